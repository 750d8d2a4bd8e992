import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Role } from "@switchyard/proto/inference/v1/chat";
import type {
  ChatMessage,
  ChatParameters,
  ContentPart,
  ResponseFormat,
  Tool,
  ToolChoice,
} from "@switchyard/proto/inference/v1/chat";
import { failure } from "@switchyard/rpc";
import { present } from "./json.ts";

const ROLES: Readonly<Partial<Record<Role, string>>> = {
  [Role.SYSTEM]: "system",
  [Role.DEVELOPER]: "developer",
  [Role.USER]: "user",
  [Role.ASSISTANT]: "assistant",
  [Role.TOOL]: "tool",
};

/** The body of `/v1/chat/completions` that asks for the same. What `extra` says of a named field, or of streaming, is overruled. Throws a ConnectError for a message without a role. */
export function chatBody(asked: ChatParameters, stream: boolean): JsonObject {
  const { stream: _stream, stream_options: _options, ...extra } = asked.extra ?? {};
  return {
    ...extra,
    model: asked.model,
    messages: asked.messages.map(messageOf),
    ...present({
      tools: asked.tools.length === 0 ? undefined : asked.tools.map(toolOf),
      tool_choice: asked.toolChoice === undefined ? undefined : choiceOf(asked.toolChoice),
      max_tokens: asked.maxTokens === undefined ? undefined : Number(asked.maxTokens),
      temperature: asked.temperature,
      top_p: asked.topP,
      stop: asked.stop.length === 0 ? undefined : asked.stop,
      seed: asked.seed === undefined ? undefined : Number(asked.seed),
      response_format: asked.responseFormat === undefined ? undefined : formatOf(asked.responseFormat),
      reasoning_effort: asked.reasoningEffort,
      user: asked.user,
      stream: stream ? true : undefined,
    }),
  };
}

function messageOf(message: ChatMessage): JsonObject {
  const { content, toolCalls } = message;
  const role = ROLES[message.role];
  if (role === undefined) throw failure("invalid_request", "a message has no role", { status: 400 });
  const calls = toolCalls.map(({ id, name, arguments: text, extra }) => ({
    ...extra,
    id,
    type: "function",
    function: { name, arguments: text },
  }));
  return {
    ...message.extra,
    role,
    ...present({
      content: contentOf(content),
      tool_calls: calls.length === 0 ? undefined : calls,
      tool_call_id: message.toolCallId,
      name: message.name,
    }),
  };
}

function contentOf(content: ChatMessage["content"]): JsonValue | undefined {
  if (content.case === "text") return content.value;
  return content.case === "parts" ? content.value.parts.map(partOf) : undefined;
}

function partOf({ part }: ContentPart): JsonObject {
  if (part.case !== "image") return { type: "text", text: part.value ?? "" };
  const { source, detail } = part.value;
  const image = { url: urlOf(source), ...present({ detail }) };
  return { type: "image_url", image_url: image };
}

type Source = Extract<ContentPart["part"], { case: "image" }>["value"]["source"];

function urlOf(source: Source): string {
  if (source.case !== "data") return source.value ?? "";
  const { mediaType, bytes } = source.value;
  const encoded = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  return `data:${mediaType};base64,${encoded}`;
}

function toolOf({ name, description, parameters, strict }: Tool): JsonObject {
  return { type: "function", function: { name, ...present({ description, parameters, strict }) } };
}

function choiceOf({ choice }: ToolChoice): JsonValue {
  return choice.case === "function"
    ? { type: "function", function: { name: choice.value } }
    : (choice.value ?? "auto");
}

function formatOf({ format }: ResponseFormat): JsonObject {
  if (format.case !== "jsonSchema") return { type: "json_object" };
  const { name, description, schema, strict } = format.value;
  return { type: "json_schema", json_schema: { name, ...present({ description, schema, strict }) } };
}

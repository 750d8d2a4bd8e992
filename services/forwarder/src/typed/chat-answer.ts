import { create } from "@bufbuild/protobuf";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import {
  AssistantMessageSchema,
  ChatChoiceSchema,
  ChatDeltaSchema,
  ToolCallDeltaSchema,
  ToolCallSchema,
} from "@switchyard/proto/inference/v1/chat";
import type {
  AssistantMessage,
  ChatChoice,
  ChatDelta,
  ToolCall,
  ToolCallDelta,
} from "@switchyard/proto/inference/v1/chat";
import { countOf, objectOf, objectsOf, present, textOf, unreadable, without } from "./json.ts";

/** Servers name thoughts either way; some say the same twice. */
const NAMED = new Set(["role", "content", "tool_calls", "refusal", "reasoning", "reasoning_content"]);

/** The choices of a whole answer. Throws a ConnectError for what is no chat completion. */
export function readChoices(answer: JsonObject): ChatChoice[] {
  if (!Array.isArray(answer["choices"])) throw unreadable("it has no choices");
  return objectsOf(answer["choices"]).map((choice, at) =>
    create(ChatChoiceSchema, {
      index: countOf(choice["index"]) ?? at,
      message: readMessage(objectOf(choice["message"]) ?? {}),
      finishReason: textOf(choice["finish_reason"]) ?? "",
    }),
  );
}

/** The deltas of one event of a stream; one that says nothing is left out. */
export function readDeltas(event: JsonObject): ChatDelta[] {
  return objectsOf(event["choices"])
    .map((choice, at) => readDelta(choice, objectOf(choice["delta"]) ?? {}, at))
    .filter((delta) => delta !== undefined);
}

/** A whole answer as the deltas of a stream that says it at once. */
export function wholeAsDeltas(answer: JsonObject): ChatDelta[] {
  return readChoices(answer).map(({ index, message, finishReason }) => {
    const { content, toolCalls = [], refusal, reasoning, extra } = message ?? {};
    return create(ChatDeltaSchema, {
      index,
      toolCalls: toolCalls.map(({ id, name, arguments: text }, call) =>
        create(ToolCallDeltaSchema, { index: call, id, name, arguments: text }),
      ),
      ...present({ content, refusal, reasoning, extra }),
      ...(finishReason === "" ? {} : { finishReason }),
    });
  });
}

function readMessage(message: JsonObject): AssistantMessage {
  return create(AssistantMessageSchema, {
    toolCalls: objectsOf(message["tool_calls"]).map(readCall),
    ...said(message),
  });
}

function readDelta(choice: JsonObject, delta: JsonObject, at: number): ChatDelta | undefined {
  const finishReason = textOf(choice["finish_reason"]);
  const toolCalls = objectsOf(delta["tool_calls"]).map(readCallDelta);
  const { content, ...more } = said(delta);
  // The role's event brings an empty text, which is none.
  const fields = { ...more, ...present({ finishReason, content: content === "" ? undefined : content }) };
  if (toolCalls.length === 0 && Object.keys(fields).length === 0) return undefined;
  return create(ChatDeltaSchema, { index: countOf(choice["index"]) ?? at, toolCalls, ...fields });
}

function said(message: JsonObject) {
  return present({
    content: contentOf(message["content"]),
    refusal: textOf(message["refusal"]),
    reasoning: textOf(message["reasoning"]) ?? textOf(message["reasoning_content"]),
    extra: without(message, NAMED),
  });
}

/** Some servers answer in parts; their texts are the content. */
function contentOf(content: JsonValue | undefined): string | undefined {
  if (!Array.isArray(content)) return textOf(content);
  const texts = objectsOf(content).map((part) => textOf(part["text"]) ?? "");
  return texts.join("");
}

function readCall(call: JsonObject): ToolCall {
  const asked = objectOf(call["function"]) ?? {};
  return create(ToolCallSchema, {
    id: textOf(call["id"]) ?? "",
    name: textOf(asked["name"]) ?? "",
    arguments: textOf(asked["arguments"]) ?? "",
  });
}

function readCallDelta(call: JsonObject, at: number): ToolCallDelta {
  const asked = objectOf(call["function"]) ?? {};
  return create(ToolCallDeltaSchema, {
    index: countOf(call["index"]) ?? at,
    ...present({
      id: textOf(call["id"]),
      name: textOf(asked["name"]),
      arguments: textOf(asked["arguments"]),
    }),
  });
}

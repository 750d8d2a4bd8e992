import { CH, DONE, failure, HANG, json, NEXT, ROLE, sse, USAGE } from "@switchyard/testkit";
import type { Answer, Step } from "@switchyard/testkit";
import { fieldsOf, halves, listOf, MESSAGES, need, needConversation, only, textOf, USED } from "./vendor.ts";
import type { Asked, Fields, Part, Said, Turn, Vendor } from "./vendor.ts";

const KNOWN =
  "model messages max_tokens max_completion_tokens temperature top_p stop tools tool_choice parallel_tool_calls " +
  "response_format reasoning_effort user stream stream_options";
const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"];

/** OpenAI's chat completions. */
export const chat: Vendor = {
  signs: false,
  tellsWait: true,
  read: (call) => readBody(call.json()),
  say: (said, call) => {
    const body = call.json() as Fields;
    return body["stream"] === true ? stream(said, body["stream_options"] !== undefined) : whole(said);
  },
  fail: (mistake, message = MESSAGES[mistake]) => {
    switch (mistake) {
      case "rate_limited":
        return failure(
          429,
          { message, type: "requests", code: "rate_limit_exceeded" },
          { "Retry-After": "3" },
        );
      case "overloaded":
        return failure(503, { message, type: "server_error", code: "server_is_overloaded" });
      case "invalid_request":
        return failure(400, { message, type: "invalid_request_error", param: "messages" });
      case "context_length":
        return failure(400, {
          message,
          type: "invalid_request_error",
          param: "messages",
          code: "context_length_exceeded",
        });
    }
  },
};

/** Google's API in OpenAI's words: its newer models want a signature at each answer's first call, also that there is none. */
export const googleChat: Vendor = {
  ...chat,
  read: (call) => {
    const body = fieldsOf(call.json(), "body");
    const messages = listOf(body["messages"], "messages").map((each) => {
      const message = fieldsOf(each, "messages");
      const calls = message["tool_calls"];
      return calls === undefined ? message : { ...message, tool_calls: readSigned(calls) };
    });
    return readBody({ ...body, messages });
  },
};

function readSigned(calls: unknown): unknown[] {
  return listOf(calls, "tool_calls").map((call, place) => {
    const { extra_content: extra, ...plain } = fieldsOf(call, "tool_calls");
    need(
      place > 0 || extra !== undefined,
      "Function call is missing a thought_signature in functionCall parts.",
    );
    return plain;
  });
}

function readBody(value: unknown): Asked {
  const body = only(value, "body", KNOWN);
  textOf(body["model"], "model");
  const effort = body["reasoning_effort"];
  need(effort === undefined || EFFORTS.includes(effort as string), "reasoning_effort: unknown value");
  need(body["stream_options"] === undefined || body["stream"] === true, "stream_options: only with a stream");
  const tools = listOf(body["tools"] ?? [], "tools").map(readTool);
  need(body["tools"] === undefined || tools.length > 0, "tools: must not be empty");
  need(body["tool_choice"] === undefined || tools.length > 0, "tool_choice: only with tools");
  const all = listOf(body["messages"], "messages").map((each, place) =>
    readMessage(fieldsOf(each, `messages.${place}`), `messages.${place}`),
  );
  return {
    system: all.flatMap((each) => (typeof each === "string" ? [each] : [])).join("\n"),
    turns: needConversation(joined(all)),
    tools,
    schema: readFormat(body["response_format"]),
    thinks: effort !== undefined && effort !== "none",
  };
}

function readTool(tool: unknown): string {
  const { type, function: called } = only(tool, "tools", "type function");
  need(type === "function", "tools: type must be 'function'");
  const { name, parameters } = only(called, "tools.function", "name description parameters strict");
  need(fieldsOf(parameters, "tools.function.parameters")["type"] === "object", "parameters: of type object");
  return textOf(name, "tools.function.name");
}

function readFormat(format: unknown): unknown {
  if (format === undefined) return undefined;
  const { type, json_schema: said } = only(format, "response_format", "type json_schema");
  need(type === "json_schema", "response_format: type");
  const schema = only(said, "json_schema", "name description schema strict");
  need(/^[\w-]{1,64}$/u.test(textOf(schema["name"], "json_schema.name")), "json_schema.name");
  return fieldsOf(schema["schema"], "json_schema.schema");
}

/** A text is an instruction. */
function readMessage(message: Fields, path: string): Turn | string {
  const content = message["content"];
  switch (message["role"]) {
    case "system":
    case "developer":
      return typeof content === "string"
        ? textOf(content, path)
        : readParts(content, path)
            .map((part) => (part.kind === "text" ? part.text : ""))
            .join("");
    case "user":
      return { role: "user", parts: readParts(content, path) };
    case "assistant": {
      // OpenAI's own helper of streams adds what it parsed, and gives that back.
      only(
        message,
        path,
        "role content tool_calls refusal reasoning_content reasoning_details annotations parsed",
      );
      const calls = listOf(message["tool_calls"] ?? [], `${path}.tool_calls`).map(readCall);
      need(message["tool_calls"] === undefined || calls.length > 0, `${path}.tool_calls: must not be empty`);
      need(calls.length > 0 || typeof content === "string", `${path}.content: required`);
      const text = typeof content === "string" && content !== "" ? content : undefined;
      return {
        role: "assistant",
        parts: [...(text === undefined ? [] : [{ kind: "text" as const, text }]), ...calls],
      };
    }
    case "tool": {
      only(message, path, "role content tool_call_id");
      need(typeof content === "string", `${path}.content: must be a string`);
      const id = textOf(message["tool_call_id"], `${path}.tool_call_id`);
      return { role: "user", parts: [{ kind: "result", id, text: content }] };
    }
    default:
      need(false, `${path}.role: unknown`);
      return "";
  }
}

function readCall(call: unknown): Part {
  const { id, type, function: called } = only(call, "tool_calls", "id type function");
  need(type === "function", "tool_calls.type: must be 'function'");
  const { name, arguments: args } = only(called, "tool_calls.function", "name arguments parsed_arguments");
  const parsed = JSON.parse(textOf(args, "tool_calls.function.arguments")) as unknown;
  return { kind: "call", id: textOf(id, "tool_calls.id"), name: textOf(name, "name"), args: parsed };
}

function readParts(content: unknown, path: string): Part[] {
  if (typeof content === "string") return [{ kind: "text", text: textOf(content, path) }];
  return listOf(content, path).map((part) => {
    const { type, text, image_url: image } = only(part, path, "type text image_url");
    if (type === "text") return { kind: "text", text: textOf(text, `${path}.text`) };
    need(type === "image_url", `${path}.type: unknown`);
    const { url } = only(image, `${path}.image_url`, "url detail");
    const [, mediaType, data] = /^data:([^;]+);base64,(.+)$/u.exec(textOf(url, "url")) ?? [];
    return { kind: "image", mediaType: textOf(mediaType, "url"), data: textOf(data, "url") };
  });
}

/** Results follow their calls in messages of their own; here they are one turn with what the user says next. */
function joined(all: readonly (Turn | string)[]): Turn[] {
  const turns: Turn[] = [];
  let wereResults = false;
  for (const turn of all) {
    if (typeof turn === "string") continue;
    const last = turns.at(-1);
    const areResults = turn.parts[0]?.kind === "result";
    need(!areResults || last?.role === "assistant" || wereResults, "a tool message must follow the calls");
    if (wereResults && turn.role === "user" && last !== undefined)
      turns[turns.length - 1] = { role: "user", parts: [...last.parts, ...turn.parts] };
    else turns.push(turn);
    wereResults = areResults;
  }
  return turns;
}

const USAGE_BODY = {
  prompt_tokens: USED.input,
  completion_tokens: USED.output,
  total_tokens: USED.input + USED.output,
  prompt_tokens_details: { cached_tokens: USED.cached },
  completion_tokens_details: { reasoning_tokens: USED.reasoning },
};

function whole({ thinking, text, calls = [] }: Said): Answer {
  const tools = calls.map(({ id, name, args }) => ({
    id,
    type: "function",
    function: { name, arguments: args },
  }));
  return json(200, {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1_700_000_000,
    model: "up-model",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: text ?? null,
          ...(thinking === undefined ? {} : { reasoning_content: thinking }),
          ...(tools.length > 0 ? { tool_calls: tools } : {}),
        },
        logprobs: null,
        finish_reason: tools.length > 0 ? "tool_calls" : "stop",
      },
    ],
    usage: USAGE_BODY,
  });
}

function stream({ thinking = "", text = "", calls = [], hangs = false }: Said, usage: boolean): Answer {
  const pieces = (all: string, field: string): Step[] =>
    all === "" ? [] : halves(all).flatMap((piece) => [CH({ [field]: piece }), NEXT]);
  const steps: Step[] = [ROLE, ...pieces(thinking, "reasoning_content"), ...pieces(text, "content")];
  if (hangs) return sse([...steps, HANG]);
  // OpenAI interleaves nothing, but others do: both calls begin before the first one's arguments end.
  for (const [index, { id, name }] of calls.entries())
    steps.push(CH({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }));
  for (const half of [0, 1])
    for (const [index, { args }] of calls.entries())
      steps.push(CH({ tool_calls: [{ index, function: { arguments: halves(args)[half] } }] }), NEXT);
  steps.push(CH({}, calls.length > 0 ? "tool_calls" : "stop"));
  if (usage) steps.push(USAGE().replace(/"usage":\{[^}]*\}/u, `"usage":${JSON.stringify(USAGE_BODY)}`));
  return sse([...steps, DONE]);
}

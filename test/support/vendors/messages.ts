import { AE, HANG, json, NEXT, sse } from "@switchyard/testkit";
import type { Answer, Step } from "@switchyard/testkit";
import {
  fieldsOf,
  halves,
  listOf,
  MESSAGES,
  need,
  needConversation,
  only,
  SIGNATURE,
  textOf,
  USED,
} from "./vendor.ts";
import type { Fields, Mistake, Part, Said, Turn, Vendor } from "./vendor.ts";

const KNOWN =
  "model messages max_tokens system stream tools tool_choice thinking output_config metadata stop_sequences temperature " +
  "top_p top_k service_tier cache_control anthropic_version";
const ID = /^[a-zA-Z0-9_-]+$/u;
const STATUS: Readonly<Record<Mistake, readonly [number, string]>> = {
  rate_limited: [429, "rate_limit_error"],
  overloaded: [529, "overloaded_error"],
  invalid_request: [400, "invalid_request_error"],
  context_length: [400, "invalid_request_error"],
};

/** Anthropic's messages. */
export const messages: Vendor = {
  signs: true,
  tellsWait: true,
  read: (call) => {
    const body = only(call.json(), "body", KNOWN);
    const isVertex = call.path.includes(":rawPredict") || call.path.includes(":streamRawPredict");
    if (isVertex) {
      need(body["anthropic_version"] === "vertex-2023-10-16", "anthropic_version: required");
      need(body["model"] === undefined, "model: extra inputs are not permitted");
    } else {
      textOf(body["model"], "model");
      need(body["anthropic_version"] === undefined, "anthropic_version: extra inputs are not permitted");
      needVersion(call.header("anthropic-version"), body);
    }
    const bound = body["max_tokens"];
    need(typeof bound === "number" && bound > 0, "max_tokens: required");
    const tools = listOf(body["tools"] ?? [], "tools").map(readTool);
    need(body["tool_choice"] === undefined || tools.length > 0, "tool_choice: only with tools");
    const thinks = readThinking(body, bound);
    const turns = listOf(body["messages"], "messages").map(readTurn);
    need(tools.length > 0 || !turns.some(hasCalls), "tools: required where calls are talked of");
    if (thinks) needThinking(turns);
    return {
      system: readSystem(body["system"]),
      turns: needConversation(turns),
      tools,
      schema: readSchema(body),
      thinks,
    };
  },
  say: (said, call) => ((call.json() as Fields)["stream"] === true ? stream(said) : whole(said)),
  fail: (mistake, message = MESSAGES[mistake]) => {
    const [status, type] = STATUS[mistake];
    const wording =
      mistake === "context_length" ? `prompt is too long: 210000 tokens > 200000 maximum` : message;
    const headers = mistake === "rate_limited" ? { "Retry-After": "3" } : {};
    return json(
      status,
      { type: "error", error: { type, message: wording }, request_id: "req_1" },
      { "request-id": "req_1", ...headers },
    );
  },
};

/** The version of the SDKs since 1.0 takes no sampling. */
function needVersion(version: string | undefined, body: Fields): void {
  need(version === "2023-06-01" || version === "2026-10-21", "anthropic-version: a known one is required");
  const sampling = ["temperature", "top_p", "top_k"].filter((key) => body[key] !== undefined);
  need(
    version === "2023-06-01" || sampling.length === 0,
    `${sampling.join()}: extra inputs are not permitted`,
  );
}

function readSystem(system: unknown): string {
  if (system === undefined || typeof system === "string") return system ?? "";
  return listOf(system, "system")
    .map((block) => textOf(only(block, "system", "type text cache_control")["text"], "system.text"))
    .join("\n");
}

function readTool(tool: unknown): string {
  const fields = only(
    tool,
    "tools",
    "name description input_schema strict cache_control type eager_input_streaming",
  );
  need(fieldsOf(fields["input_schema"], "input_schema")["type"] === "object", "input_schema.type: required");
  return textOf(fields["name"], "tools.name");
}

function readSchema(body: Fields): unknown {
  if (body["output_config"] === undefined) return undefined;
  const { format } = only(body["output_config"], "output_config", "format effort");
  if (format === undefined) return undefined;
  const { type, schema } = only(format, "output_config.format", "type schema");
  need(type === "json_schema", "output_config.format.type");
  return fieldsOf(schema, "output_config.format.schema");
}

function readThinking(body: Fields, bound: number): boolean {
  if (body["thinking"] === undefined) return false;
  const { type, budget_tokens: budget } = only(body["thinking"], "thinking", "type budget_tokens display");
  if (type === "disabled") return false;
  need(type === "enabled", "thinking.type: this model takes a budget");
  need(typeof budget === "number" && budget >= 1024, "thinking.budget_tokens: at least 1024");
  need(budget < bound, "max_tokens: must be greater than thinking.budget_tokens");
  need(body["temperature"] === undefined || body["temperature"] === 1, "temperature: only 1 with thinking");
  const choice = (body["tool_choice"] as Fields | undefined)?.["type"];
  need(choice === undefined || choice === "auto" || choice === "none", "thinking: no forced tool use");
  return true;
}

/** The turn that calls tools begins with the thinking that led there. */
function needThinking(turns: readonly Turn[]): void {
  const last = turns.at(-1)?.parts.some(({ kind }) => kind === "result") === true ? turns.at(-2) : undefined;
  need(last === undefined || last.parts[0]?.kind === "thinking", "Expected `thinking`, but found `tool_use`");
}

function hasCalls({ parts }: Turn): boolean {
  return parts.some(({ kind }) => kind === "call" || kind === "result");
}

function readTurn(message: unknown, place: number): Turn {
  const path = `messages.${place}`;
  const { role, content } = only(message, path, "role content");
  need(role === "user" || role === "assistant", `${path}.role: unknown`);
  if (typeof content === "string")
    return { role, parts: [{ kind: "text", text: visibleText(content, path) }] };
  const parts = listOf(content, path).map((block) => readBlock(fieldsOf(block, path), path));
  const results = parts.filter(({ kind }) => kind === "result").length;
  need(
    parts.slice(0, results).every(({ kind }) => kind === "result"),
    `${path}: tool results must come first`,
  );
  return { role, parts };
}

function visibleText(value: unknown, path: string): string {
  const text = textOf(value, path);
  need(text.trim() !== "", "messages: text content blocks must contain non-whitespace text");
  return text;
}

function readBlock(block: Fields, path: string): Part {
  switch (block["type"]) {
    case "text":
      only(block, path, "type text cache_control citations");
      return { kind: "text", text: visibleText(block["text"], `${path}.text`) };
    case "image": {
      const { source } = only(block, path, "type source cache_control");
      const { type, media_type: media, data } = only(source, `${path}.source`, "type media_type data");
      need(type === "base64", `${path}.source.type`);
      return { kind: "image", mediaType: textOf(media, "media_type"), data: textOf(data, "data") };
    }
    case "tool_use": {
      only(block, path, "type id name input cache_control");
      const id = textOf(block["id"], `${path}.id`);
      need(ID.test(id), `${path}.id: must match ${ID.source}`);
      return {
        kind: "call",
        id,
        name: textOf(block["name"], "name"),
        args: fieldsOf(block["input"], "input"),
      };
    }
    case "tool_result":
      only(block, path, "type tool_use_id content is_error cache_control");
      return {
        kind: "result",
        id: textOf(block["tool_use_id"], path),
        text: readResult(block["content"], path),
      };
    case "thinking": {
      only(block, path, "type thinking signature");
      need(block["signature"] === SIGNATURE, `${path}: Invalid \`signature\` in \`thinking\` block`);
      return { kind: "thinking", text: textOf(block["thinking"], path), signature: SIGNATURE };
    }
    default:
      need(false, `${path}.type: unknown`);
      throw new Error("unreachable");
  }
}

function readResult(content: unknown, path: string): string {
  if (content === undefined || typeof content === "string") return content ?? "";
  return listOf(content, path)
    .map((block) => textOf(only(block, path, "type text")["text"], `${path}.text`))
    .join("");
}

const INPUT = {
  input_tokens: USED.input - USED.cached,
  cache_read_input_tokens: USED.cached,
  cache_creation_input_tokens: 0,
};

function blocksOf({ thinking, text, calls = [] }: Said): Fields[] {
  return [
    ...(thinking === undefined ? [] : [{ type: "thinking", thinking, signature: SIGNATURE }]),
    ...(text === undefined ? [] : [{ type: "text", text }]),
    ...calls.map(({ id, name, args }) => ({
      type: "tool_use",
      id,
      name,
      input: JSON.parse(args) as unknown,
    })),
  ];
}

function messageOf(fields: object): object {
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-up",
    stop_sequence: null,
    ...fields,
  };
}

function whole(said: Said): Answer {
  const stop_reason = said.calls === undefined ? "end_turn" : "tool_use";
  const usage = { ...INPUT, output_tokens: USED.output };
  return json(200, messageOf({ content: blocksOf(said), stop_reason, usage }));
}

function stream(said: Said): Answer {
  const event = (type: string, fields: object): string => AE(type, { type, ...fields });
  const start = { content: [], stop_reason: null, usage: { ...INPUT, output_tokens: 1 } };
  const steps: Step[] = [event("message_start", { message: messageOf(start) }), event("ping", {}), NEXT];
  let index = 0;
  const block = (content_block: object, deltas: readonly object[]): void => {
    steps.push(event("content_block_start", { index, content_block }));
    for (const delta of deltas) steps.push(event("content_block_delta", { index, delta }), NEXT);
    if (said.hangs !== true) steps.push(event("content_block_stop", { index }));
    index += 1;
  };
  if (said.thinking !== undefined)
    block({ type: "thinking", thinking: "", signature: "" }, [
      ...halves(said.thinking).map((thinking) => ({ type: "thinking_delta", thinking })),
      { type: "signature_delta", signature: SIGNATURE },
    ]);
  if (said.text !== undefined)
    block(
      { type: "text", text: "" },
      halves(said.text).map((text) => ({ type: "text_delta", text })),
    );
  if (said.hangs === true) return sse([...steps, HANG]);
  for (const { id, name, args } of said.calls ?? []) {
    // Anthropic opens arguments with an empty piece, and sends nothing else for none.
    const pieces = args === "{}" ? [""] : ["", ...halves(args)];
    block(
      { type: "tool_use", id, name, input: {} },
      pieces.map((partial_json) => ({ type: "input_json_delta", partial_json })),
    );
  }
  const stop_reason = said.calls === undefined ? "end_turn" : "tool_use";
  steps.push(
    event("message_delta", {
      delta: { stop_reason, stop_sequence: null },
      usage: { output_tokens: USED.output },
    }),
    event("message_stop", {}),
  );
  return sse(steps);
}

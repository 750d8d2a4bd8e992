import { crc32 } from "node:zlib";
import { HANG, json, NEXT, raw } from "@switchyard/testkit";
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
  "messages system inferenceConfig toolConfig additionalModelRequestFields outputConfig requestMetadata";
const ID = /^[a-zA-Z0-9_-]{1,64}$/u;
const STATUS: Readonly<Record<Mistake, readonly [number, string]>> = {
  rate_limited: [429, "ThrottlingException"],
  overloaded: [503, "ServiceUnavailableException"],
  invalid_request: [400, "ValidationException"],
  context_length: [400, "ValidationException"],
};

/** Bedrock's Converse with a Claude behind it. */
export const converse: Vendor = {
  signs: true,
  tellsWait: false,
  read: (call) => {
    const body = only(call.json(), "body", KNOWN);
    const config = only(
      body["inferenceConfig"] ?? {},
      "inferenceConfig",
      "maxTokens temperature topP stopSequences",
    );
    const tools = readTools(body["toolConfig"]);
    const turns = listOf(body["messages"], "messages").map(readTurn);
    const talked = turns.some(({ parts }) => parts.some(({ kind }) => kind === "call" || kind === "result"));
    need(!talked || tools.length > 0, "The toolConfig field must be defined when using toolUse blocks");
    const thinks = readThinking(body["additionalModelRequestFields"], config["maxTokens"]);
    const last = turns.at(-1)?.parts[0]?.kind === "result" ? turns.at(-2) : undefined;
    need(!thinks || last === undefined || last.parts[0]?.kind === "thinking", "Expected thinking first");
    const system = listOf(body["system"] ?? [], "system")
      .map((block) => textOf(only(block, "system", "text")["text"], "system"))
      .join("\n");
    return {
      system,
      turns: needConversation(turns),
      tools,
      schema: readSchema(body["outputConfig"]),
      thinks,
    };
  },
  say: (said, call) => (call.path.endsWith("/converse-stream") ? stream(said) : whole(said)),
  fail: (mistake, message = MESSAGES[mistake]) => {
    const [status, type] = STATUS[mistake];
    const wording = mistake === "context_length" ? "Input is too long for requested model." : message;
    return json(status, { message: wording }, { "x-amzn-ErrorType": `${type}:http://internal.amazon.com/` });
  },
};

function readTools(config: unknown): string[] {
  if (config === undefined) return [];
  const { tools } = only(config, "toolConfig", "tools toolChoice");
  const list = listOf(tools, "toolConfig.tools").map((tool) => {
    const { toolSpec } = only(tool, "tools", "toolSpec");
    const { name, inputSchema } = only(toolSpec, "toolSpec", "name description inputSchema strict");
    const schema = fieldsOf(only(inputSchema, "inputSchema", "json")["json"], "inputSchema.json");
    need(schema["type"] === "object", "inputSchema.json.type: must be object");
    return textOf(name, "toolSpec.name");
  });
  need(list.length > 0, "toolConfig.tools: must not be empty");
  return list;
}

function readSchema(config: unknown): unknown {
  if (config === undefined) return undefined;
  const { textFormat } = only(config, "outputConfig", "textFormat");
  const { type, structure } = only(textFormat, "textFormat", "type structure");
  need(type === "json_schema", "textFormat.type");
  const { jsonSchema } = only(structure, "structure", "jsonSchema");
  return JSON.parse(textOf(only(jsonSchema, "jsonSchema", "name description schema")["schema"], "schema"));
}

function readThinking(fields: unknown, bound: unknown): boolean {
  if (fields === undefined) return false;
  const { thinking } = only(fields, "additionalModelRequestFields", "thinking tool_choice top_k");
  if (thinking === undefined) return false;
  const { type, budget_tokens: budget } = only(thinking, "thinking", "type budget_tokens");
  if (type !== "enabled") return false;
  need(typeof budget === "number" && budget >= 1024, "budget_tokens: at least 1024");
  need(typeof bound === "number" && bound > budget, "maxTokens: more than budget_tokens");
  return true;
}

function readTurn(message: unknown, place: number): Turn {
  const path = `messages.${place}`;
  const { role, content } = only(message, path, "role content");
  need(role === "user" || role === "assistant", `${path}.role`);
  return {
    role: role,
    parts: listOf(content, path).map((block) => readBlock(fieldsOf(block, path), path)),
  };
}

function readBlock(block: Fields, path: string): Part {
  need(Object.keys(block).length === 1, `${path}: a block is a union`);
  const { text, image, toolUse, toolResult, reasoningContent } = only(
    block,
    path,
    "text image toolUse toolResult reasoningContent",
  );
  if (text !== undefined) {
    need(textOf(text, path).trim() !== "", `${path}: the text field is blank`);
    return { kind: "text", text: text as string };
  }
  if (image !== undefined) {
    const { format, source } = only(image, path, "format source");
    need(["png", "jpeg", "gif", "webp"].includes(format as string), `${path}.format`);
    const data = textOf(only(source, path, "bytes")["bytes"], path);
    return { kind: "image", mediaType: `image/${format as string}`, data };
  }
  if (toolUse !== undefined) {
    const { toolUseId, name, input } = only(toolUse, path, "toolUseId name input");
    need(ID.test(textOf(toolUseId, path)), `${path}.toolUseId`);
    return { kind: "call", id: toolUseId as string, name: textOf(name, path), args: fieldsOf(input, path) };
  }
  if (toolResult !== undefined) {
    const { toolUseId, content } = only(toolResult, path, "toolUseId content status");
    const texts = listOf(content, path).map((each) => textOf(only(each, path, "text")["text"], path));
    return { kind: "result", id: textOf(toolUseId, path), text: texts.join("") };
  }
  const { reasoningText } = only(reasoningContent, path, "reasoningText");
  const said = only(reasoningText, path, "text signature");
  need(said["signature"] === SIGNATURE, `${path}: invalid signature`);
  return { kind: "thinking", text: textOf(said["text"], path), signature: SIGNATURE };
}

const USAGE = {
  inputTokens: USED.input - USED.cached,
  outputTokens: USED.output,
  totalTokens: USED.input + USED.output,
  cacheReadInputTokens: USED.cached,
  cacheWriteInputTokens: 0,
};

function whole({ thinking, text, calls }: Said): Answer {
  const content = [
    ...(thinking === undefined
      ? []
      : [{ reasoningContent: { reasoningText: { text: thinking, signature: SIGNATURE } } }]),
    ...(text === undefined ? [] : [{ text }]),
    ...(calls ?? []).map(({ id, name, args }) => ({
      toolUse: { toolUseId: id, name, input: JSON.parse(args) as unknown },
    })),
  ];
  return json(200, {
    output: { message: { role: "assistant", content } },
    stopReason: calls === undefined ? "end_turn" : "tool_use",
    usage: USAGE,
    metrics: { latencyMs: 5 },
  });
}

function stream(said: Said): Answer {
  const steps: Step[] = [frame("messageStart", { role: "assistant" })];
  let contentBlockIndex = 0;
  const block = (start: object | undefined, deltas: readonly object[]): void => {
    if (start !== undefined) steps.push(frame("contentBlockStart", { contentBlockIndex, start }));
    for (const delta of deltas) steps.push(frame("contentBlockDelta", { contentBlockIndex, delta }), NEXT);
    if (said.hangs !== true) steps.push(frame("contentBlockStop", { contentBlockIndex }));
    contentBlockIndex += 1;
  };
  if (said.thinking !== undefined)
    block(undefined, [
      ...halves(said.thinking).map((text) => ({ reasoningContent: { text } })),
      { reasoningContent: { signature: SIGNATURE } },
    ]);
  if (said.text !== undefined)
    block(
      undefined,
      halves(said.text).map((text) => ({ text })),
    );
  const headers = { "Content-Type": "application/vnd.amazon.eventstream" };
  if (said.hangs === true) return raw(200, headers, [...steps, HANG]);
  for (const { id, name, args } of said.calls ?? [])
    block(
      { toolUse: { toolUseId: id, name } },
      (args === "{}" ? [] : halves(args)).map((input) => ({ toolUse: { input } })),
    );
  steps.push(
    frame("messageStop", { stopReason: said.calls === undefined ? "end_turn" : "tool_use" }),
    frame("metadata", { usage: USAGE, metrics: { latencyMs: 5 } }),
  );
  return raw(200, headers, steps);
}

/** One event of AWS's binary stream, with its checksums. */
export function frame(type: string, payload: object, kind: "event" | "exception" = "event"): Buffer {
  const text = (name: string, value: string): Buffer => {
    const size = Buffer.alloc(3);
    size.writeUInt8(7);
    size.writeUInt16BE(value.length, 1);
    return Buffer.concat([Buffer.of(name.length), Buffer.from(name), size, Buffer.from(value)]);
  };
  const headers = Buffer.concat([
    text(`:${kind}-type`, type),
    text(":content-type", "application/json"),
    text(":message-type", kind),
  ]);
  const body = Buffer.from(JSON.stringify(payload));
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(headers.length + body.length + 16);
  prelude.writeUInt32BE(headers.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const all = Buffer.concat([prelude, headers, body, Buffer.alloc(4)]);
  all.writeUInt32BE(crc32(all.subarray(0, -4)), all.length - 4);
  return all;
}

import { type Finish, Gathering, type Meaning, type Usage } from "./meaning.ts";
import { count, type Fields, fields, list, parse, parseOrText, text } from "./values.ts";

const FINISH: Readonly<Record<string, Finish>> = {
  end_turn: "stop",
  stop_sequence: "stop_sequence",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  guardrail_intervened: "filtered",
  content_filtered: "filtered",
};

/** Reads an answer of Bedrock's Converse. It names no model. */
export function readConverse(body: string): Meaning {
  const answer = fields(parse(body));
  return meaningOf(list(fields(fields(answer["output"])["message"])["content"]), answer);
}

/** Reads a stream of it by adding up its frames. */
export function readConverseStream(body: Uint8Array): Meaning {
  const blocks: Record<string, unknown>[] = [];
  const rest: Record<string, unknown> = {};
  for (const { type, payload } of converseFrames(body)) {
    const index = count(payload["contentBlockIndex"]);
    if (type === "contentBlockStart") blocks[index] = { ...fields(payload["start"]) };
    else if (type === "contentBlockDelta") addDelta((blocks[index] ??= {}), fields(payload["delta"]));
    else if (type === "messageStop" || type === "metadata") Object.assign(rest, payload);
  }
  for (const block of blocks) {
    const call = block["toolUse"];
    if (call !== undefined)
      block["toolUse"] = { ...fields(call), input: parseOrText(text(fields(call)["input"]) || "{}") };
  }
  return meaningOf(blocks, rest);
}

function addDelta(block: Record<string, unknown>, delta: Fields): void {
  for (const [key, value] of Object.entries(delta)) {
    if (typeof value === "string") block[key] = text(block[key]) + value;
    else {
      const inner = { ...fields(block[key]) };
      for (const [name, piece] of Object.entries(fields(value)))
        inner[name] = typeof piece === "string" ? text(inner[name]) + piece : piece;
      block[key] = inner;
    }
  }
}

function meaningOf(blocks: readonly unknown[], rest: Fields): Meaning {
  const gathering = new Gathering();
  for (const value of blocks) takeBlock(gathering, fields(value));
  if (Object.keys(fields(rest["trace"])).length > 0) gathering.extra(rest["trace"]);
  const { pieces, extras } = gathering;
  const more = fields(rest["additionalModelResponseFields"]);
  return {
    model: undefined,
    said: [
      {
        pieces,
        extras,
        finish: FINISH[text(rest["stopReason"])] ?? "cut",
        stopSequence: text(more["stop_sequence"]) || undefined,
      },
    ],
    usage: readUsage(rest["usage"]),
  };
}

function takeBlock(gathering: Gathering, block: Fields): void {
  const reasoning = fields(block["reasoningContent"]);
  const call = fields(block["toolUse"]);
  if ("text" in block) gathering.say("text", block["text"]);
  else if ("citationsContent" in block) {
    const cited = fields(block["citationsContent"]);
    for (const part of list(cited["content"])) gathering.say("text", fields(part)["text"]);
    for (const citation of list(cited["citations"])) gathering.extra(citation);
  } else if ("reasoningContent" in block) {
    // Whole answers have `reasoningText`; streams the same fields without it.
    const thought = fields(reasoning["reasoningText"] ?? reasoning);
    gathering.say("thinking", thought["text"]);
    gathering.seal("signature", thought["signature"]);
    gathering.seal("redacted", reasoning["redactedContent"]);
  } else if ("toolUse" in block) {
    gathering.call({
      id: text(call["toolUseId"]) || undefined,
      name: text(call["name"]),
      input: call["input"],
    });
  } else gathering.extra(block);
}

/** Converse counts beside the input what a cache gave and took. */
function readUsage(value: unknown): Usage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const usage = fields(value);
  const cached = count(usage["cacheReadInputTokens"]);
  const cacheWritten = count(usage["cacheWriteInputTokens"]);
  const input = count(usage["inputTokens"]) + cached + cacheWritten;
  return { input, output: count(usage["outputTokens"]), cached, cacheWritten, reasoning: 0 };
}

/** Frames of `application/vnd.amazon.eventstream`: total length, length of headers, checksum, headers, payload, checksum. */
export function converseFrames(bytes: Uint8Array): { readonly type: string; readonly payload: Fields }[] {
  const found: { type: string; payload: Fields }[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const words = new TextDecoder();
  for (let start = 0; start < bytes.length; start += view.getUint32(start)) {
    const end = start + view.getUint32(start) - 4;
    const payloadAt = start + 12 + view.getUint32(start + 4);
    let type = "";
    for (let at = start + 12; at < payloadAt; ) {
      const nameEnd = at + 1 + view.getUint8(at);
      const name = words.decode(bytes.subarray(at + 1, nameEnd));
      // Every header of this API is text: kind 7, length, bytes.
      const valueAt = nameEnd + 3;
      at = valueAt + view.getUint16(nameEnd + 1);
      if (name === ":event-type" || name === ":exception-type")
        type = words.decode(bytes.subarray(valueAt, at));
    }
    found.push({ type, payload: fields(parse(words.decode(bytes.subarray(payloadAt, end)))) });
  }
  return found;
}

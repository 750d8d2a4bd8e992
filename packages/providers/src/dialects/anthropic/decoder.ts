import {
  isJsonList,
  isJsonObject,
  type Json,
  type JsonObject,
  objectOf,
  parseJsonText,
  printJson,
  textOf,
} from "../../json/lossless.ts";
import type { EmitEvent, FinishReason } from "../../neutral/events.ts";
import type { StreamDecoder } from "../format.ts";
import { SseDecoder, type SseHandler } from "../sse-decoder.ts";
import { anthropicUsage } from "../usage.ts";

const FORMAT = "anthropic-claude-v1";

const REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop_sequence",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "refusal",
  pause_turn: "pause",
  compaction: "pause",
};

/** Tells an answer that does not stream. */
export function decodeMessage(body: Json, emit: EmitEvent): void {
  if (!isJsonObject(body)) return;
  const handler = new MessageHandler(emit);
  handler.take({ type: "message_start", message: body });
  const content = body["content"];
  for (const [index, block] of (isJsonList(content) ? content : []).entries()) {
    handler.take({ type: "content_block_start", index, content_block: block });
    handler.take({ type: "content_block_stop", index });
  }
  handler.take({ type: "message_delta", delta: body, context_management: body["context_management"] });
  handler.take({ type: "message_stop" });
}

/** Reads a stream of the messages endpoint. */
export function openMessagesStream(emit: EmitEvent): StreamDecoder {
  return new SseDecoder(new MessageHandler(emit));
}

interface OpenBlock {
  readonly block: JsonObject;
  /** Of a tool call, its number. */
  readonly call: number | undefined;
  /** Pieces of input that came. */
  input: string;
  /** Deltas of a block that only this dialect knows. */
  readonly deltas: Json[];
}

class MessageHandler implements SseHandler {
  readonly #emit: EmitEvent;
  readonly #open = new Map<Json | undefined, OpenBlock>();
  #started = false;
  #usageAtStart: Json | undefined;
  #usageAtEnd: Json | undefined;
  #container: Json | undefined;
  #calls = 0;

  constructor(emit: EmitEvent) {
    this.#emit = emit;
  }

  isError(data: JsonObject): boolean {
    return data["type"] === "error";
  }

  onComment(): void {
    this.#emit({ type: "ping" });
  }

  onDone(): void {
    // Not a word of this dialect.
  }

  onEnd(): void {
    // Only `message_stop` is an end.
  }

  take(data: JsonObject): void {
    switch (data["type"]) {
      case "message_start":
        this.#start(data["message"]);
        return;
      case "ping":
        this.#emit({ type: "ping" });
        return;
      case "content_block_start":
        this.#openBlock(data["index"], objectOf(data["content_block"]));
        return;
      case "content_block_delta":
        this.#takeDelta(data["index"], objectOf(data["delta"]));
        return;
      case "content_block_stop":
        this.#closeBlock(data["index"]);
        return;
      case "message_delta":
        if (data["usage"] !== undefined) this.#usageAtEnd = data["usage"];
        this.#tellUsage();
        this.#takeEnd(objectOf(data["delta"]), data["context_management"]);
        return;
      case "message_stop":
        this.#emit({ type: "end" });
        return;
      default:
    }
  }

  /** Some gateways send the start twice. */
  #start(value: Json | undefined): void {
    if (this.#started) return;
    this.#started = true;
    const message = objectOf(value);
    this.#emit({ type: "start", id: textOf(message["id"]), model: textOf(message["model"]) });
    this.#usageAtStart = message["usage"];
    this.#container = message["container"];
    this.#tellUsage();
  }

  #tellUsage(): void {
    const usage = anthropicUsage(this.#usageAtStart, this.#usageAtEnd);
    if (usage !== undefined) this.#emit({ type: "usage", usage });
  }

  #openBlock(index: Json | undefined, block: JsonObject): void {
    const isCall = block["type"] === "tool_use";
    const call = isCall ? this.#calls++ : undefined;
    this.#open.set(index, { block, call, input: "", deltas: [] });
    switch (block["type"]) {
      case "text":
        this.#text(textOf(block["text"]));
        for (const citation of isJsonList(block["citations"]) ? block["citations"] : []) this.#cite(citation);
        return;
      case "thinking":
        this.#think(textOf(block["thinking"]));
        this.#sign(textOf(block["signature"]));
        return;
      case "redacted_thinking":
        this.#emit({ type: "redacted", choice: 0, data: textOf(block["data"]) ?? "", format: FORMAT });
        return;
      case "tool_use":
        this.#emit({
          type: "tool_start",
          choice: 0,
          call: call ?? 0,
          id: textOf(block["id"]) ?? "",
          name: textOf(block["name"]) ?? "",
        });
        return;
      default:
    }
  }

  #takeDelta(index: Json | undefined, delta: JsonObject): void {
    const open = this.#open.get(index);
    switch (delta["type"]) {
      case "text_delta":
        this.#text(textOf(delta["text"]));
        return;
      case "thinking_delta":
        this.#think(textOf(delta["thinking"]));
        return;
      case "signature_delta":
        this.#sign(textOf(delta["signature"]));
        return;
      case "citations_delta":
        this.#cite(delta["citation"] ?? null);
        return;
      case "input_json_delta":
        this.#takeInput(open, textOf(delta["partial_json"]) ?? "");
        return;
      default:
        open?.deltas.push(delta);
    }
  }

  #takeInput(open: OpenBlock | undefined, json: string): void {
    if (open === undefined || json === "") return;
    open.input += json;
    if (open.call !== undefined) this.#emit({ type: "tool_args", choice: 0, call: open.call, json });
  }

  #closeBlock(index: Json | undefined): void {
    const open = this.#open.get(index);
    this.#open.delete(index);
    if (open === undefined) return;
    const { block, call, input, deltas } = open;
    if (call !== undefined) {
      const whole = objectOf(block["input"]);
      if (input === "" && Object.keys(whole).length > 0) {
        this.#emit({ type: "tool_args", choice: 0, call, json: printJson(whole) });
      }
      this.#emit({ type: "tool_end", choice: 0, call });
    } else if (!TOLD.has(block["type"])) {
      const value = {
        ...block,
        input: input === "" ? block["input"] : (parseJsonText(input) ?? input),
        deltas: deltas.length > 0 ? deltas : undefined,
      };
      this.#other(value);
    }
  }

  #takeEnd(delta: JsonObject, edited: Json | undefined): void {
    const native = textOf(delta["stop_reason"]);
    if (native === undefined) return;
    this.#tellBeside(delta, edited);
    this.#emit({
      type: "finish",
      choice: 0,
      reason: REASONS[native] ?? "stop",
      native,
      stopSequence: textOf(delta["stop_sequence"]),
      explanation: textOf(objectOf(delta["stop_details"])["explanation"]),
    });
  }

  /** What no other dialect has a place for: where tools ran, what was edited out of the context, why it was refused. */
  #tellBeside(delta: JsonObject, edited: Json | undefined): void {
    const { container = this.#container, stop_details: details } = delta;
    if (isJsonObject(container)) this.#other({ type: "container", container });
    const edits = objectOf(edited)["applied_edits"];
    if (isJsonList(edits) && edits.length > 0)
      this.#other({ type: "context_management", context_management: edited });
    if (isJsonObject(details)) this.#other({ type: "stop_details", stop_details: details });
  }

  #text(text: string | undefined): void {
    if (text) this.#emit({ type: "text", choice: 0, text });
  }

  #think(text: string | undefined): void {
    if (text) this.#emit({ type: "thinking", choice: 0, text });
  }

  #sign(signature: string | undefined): void {
    if (signature) this.#emit({ type: "signature", choice: 0, signature, format: FORMAT });
  }

  #cite(citation: Json): void {
    this.#emit({ type: "citation", choice: 0, value: citation });
  }

  #other(value: Json): void {
    this.#emit({ type: "other", choice: 0, value });
  }
}

/** Blocks that are told as they come. */
const TOLD: ReadonlySet<Json | undefined> = new Set<Json | undefined>([
  "text",
  "thinking",
  "redacted_thinking",
]);

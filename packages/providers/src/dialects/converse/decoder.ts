import {
  isJsonList,
  isJsonObject,
  type Json,
  type JsonObject,
  objectOf,
  printJson,
  textOf,
} from "../../json/lossless.ts";
import type { EmitEvent, FinishReason } from "../../neutral/events.ts";
import { converseUsage } from "../usage.ts";
import { AnswerFault } from "../format.ts";
import { readCitedPlace } from "./citation.ts";

/** Only Claude's thinking is signed here. */
const FORMAT = "anthropic-claude-v1";

const REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop_sequence",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  guardrail_intervened: "refusal",
  content_filtered: "refusal",
};

/** The model made no answer that could be used: no reason to stop, so what came is no whole answer (BH-16). */
const FAILURES: ReadonlySet<string> = new Set(["malformed_model_output", "malformed_tool_use"]);

/** Tells an answer of `converse`. */
export function decodeConverse(body: Json, emit: EmitEvent): void {
  if (!isJsonObject(body)) return;
  const handler = new AnswerHandler(emit);
  const content = objectOf(objectOf(body["output"])["message"])["content"];
  handler.take("messageStart", {});
  for (const block of isJsonList(content) ? content : []) handler.takeBlock(objectOf(block));
  handler.take("messageStop", body);
  handler.take("metadata", body);
  handler.onEnd();
  if (handler.failed) throw new AnswerFault("the model made no usable answer");
}

interface OpenBlock {
  /** Of a tool call that the caller is to make, its number. */
  readonly call: number | undefined;
  /** What it began with, where only this API has such a block. */
  readonly start: JsonObject | undefined;
  /** Deltas of a block that only this API knows. */
  readonly deltas: Json[];
}

/** Tells the events of a stream, by name; an answer that does not stream is told through it too. */
export class AnswerHandler {
  failed = false;
  readonly #emit: EmitEvent;
  readonly #open = new Map<Json | undefined, OpenBlock>();
  /** Blocks of text that are open. */
  readonly #texts = new Set<Json | undefined>();
  #calls = 0;
  #started = false;
  #stopped = false;
  #ended = false;

  constructor(emit: EmitEvent) {
    this.#emit = emit;
  }

  take(name: string, data: JsonObject): void {
    switch (name) {
      case "messageStart":
        this.#start();
        return;
      case "contentBlockStart":
        this.#start();
        this.#openBlock(data["contentBlockIndex"], objectOf(data["start"]));
        return;
      case "contentBlockDelta":
        this.#start();
        this.#takeDelta(data["contentBlockIndex"], objectOf(data["delta"]));
        return;
      case "contentBlockStop":
        this.#closeBlock(data["contentBlockIndex"]);
        return;
      case "messageStop":
        this.#stop(data);
        return;
      case "metadata":
        this.#takeMetadata(data);
        return;
      default:
    }
  }

  /** One block of an answer that does not stream. */
  takeBlock(block: JsonObject): void {
    const { text, reasoningContent, toolUse, citationsContent } = block;
    if (typeof text === "string") {
      this.#text(text);
      this.#endText();
    } else if (isJsonObject(reasoningContent)) this.#reason(reasoningContent);
    else if (isJsonObject(toolUse) && !isServerTool(toolUse)) this.#call(toolUse);
    else if (isJsonObject(citationsContent)) this.#takeCited(citationsContent);
    else this.#other(block);
  }

  /** The body is over. What comes after the reason to stop only counts tokens. */
  onEnd(): void {
    if (this.#stopped) this.#end();
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#emit({ type: "start", id: undefined, model: undefined });
  }

  #openBlock(index: Json | undefined, start: JsonObject): void {
    const { toolUse } = start;
    const isCall = isJsonObject(toolUse) && !isServerTool(toolUse);
    const call = isCall ? this.#calls++ : undefined;
    this.#open.set(index, { call, start: isCall ? undefined : start, deltas: [] });
    if (isCall && call !== undefined) this.#startCall(call, toolUse);
  }

  /** Texts and thoughts begin with their first delta. */
  #takeDelta(index: Json | undefined, delta: JsonObject): void {
    const open = this.#open.get(index);
    const { text, toolUse, reasoningContent, citation } = delta;
    if (typeof text === "string" || isJsonObject(citation)) this.#texts.add(index);
    if (typeof text === "string") this.#text(text);
    else if (isJsonObject(reasoningContent)) this.#reason(reasoningContent);
    else if (isJsonObject(citation)) this.#cite(citation);
    else if (open?.call !== undefined && isJsonObject(toolUse)) {
      const { input } = toolUse;
      if (typeof input === "string" && input !== "")
        this.#emit({ type: "tool_args", choice: 0, call: open.call, json: input });
    } else if (open === undefined) this.#other(delta);
    else open.deltas.push(delta);
  }

  #closeBlock(index: Json | undefined): void {
    if (this.#texts.delete(index)) this.#endText();
    const open = this.#open.get(index);
    this.#open.delete(index);
    if (open === undefined) return;
    const { call, start, deltas } = open;
    if (call !== undefined) this.#emit({ type: "tool_end", choice: 0, call });
    else if (Object.keys(start ?? {}).length > 0 || deltas.length > 0) this.#other({ ...start, deltas });
  }

  #call(toolUse: JsonObject): void {
    const call = this.#calls++;
    const input = toolUse["input"];
    this.#startCall(call, toolUse);
    if (isJsonObject(input) && Object.keys(input).length > 0) {
      this.#emit({ type: "tool_args", choice: 0, call, json: printJson(input) });
    }
    this.#emit({ type: "tool_end", choice: 0, call });
  }

  #startCall(call: number, toolUse: JsonObject): void {
    const id = textOf(toolUse["toolUseId"]) ?? "";
    this.#emit({ type: "tool_start", choice: 0, call, id, name: textOf(toolUse["name"]) ?? "" });
  }

  /** The API tells a whole thought under `reasoningText`, a piece of one without. */
  #reason(content: JsonObject): void {
    const said = isJsonObject(content["reasoningText"]) ? content["reasoningText"] : content;
    const text = textOf(said["text"]);
    const signature = textOf(said["signature"]);
    const redacted = textOf(content["redactedContent"]);
    if (text) this.#emit({ type: "thinking", choice: 0, text });
    if (signature) this.#emit({ type: "signature", choice: 0, signature, format: FORMAT });
    if (redacted) this.#emit({ type: "redacted", choice: 0, data: redacted, format: FORMAT });
  }

  #takeCited(cited: JsonObject): void {
    const { content, citations } = cited;
    for (const part of isJsonList(content) ? content : []) this.#text(textOf(objectOf(part)["text"]));
    for (const citation of isJsonList(citations) ? citations : []) this.#cite(objectOf(citation));
    this.#endText();
  }

  #stop(data: JsonObject): void {
    const native = textOf(data["stopReason"]);
    if (native === undefined || this.#stopped) return;
    this.failed = FAILURES.has(native);
    if (this.failed) return;
    this.#stopped = true;
    for (const index of this.#open.keys()) this.#closeBlock(index);
    this.#emit({
      type: "finish",
      choice: 0,
      reason: REASONS[native] ?? "stop",
      native,
      stopSequence: textOf(objectOf(data["additionalModelResponseFields"])["stop_sequence"]),
    });
  }

  #takeMetadata(data: JsonObject): void {
    const usage = converseUsage(data["usage"]);
    if (usage !== undefined) this.#emit({ type: "usage", usage });
    for (const key of BESIDE) if (isJsonObject(data[key])) this.#other({ type: key, [key]: data[key] });
    if (this.#stopped) this.#end();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#emit({ type: "end" });
  }

  #text(text: string | undefined): void {
    if (text) this.#emit({ type: "text", choice: 0, text });
  }

  #cite(citation: JsonObject): void {
    this.#emit({ type: "citation", choice: 0, value: citation, place: readCitedPlace(citation) });
  }

  #endText(): void {
    this.#emit({ type: "text_end", choice: 0 });
  }

  #other(value: Json): void {
    this.#emit({ type: "other", choice: 0, value });
  }
}

/** What a guardrail found, where the caller asked for it, and how the answer was served, which may be otherwise than asked for. */
const BESIDE = ["trace", "performanceConfig", "serviceTier"] as const;

/** Run by the provider, so not for the caller to make. */
function isServerTool(toolUse: JsonObject): boolean {
  return toolUse["type"] === "server_tool_use";
}

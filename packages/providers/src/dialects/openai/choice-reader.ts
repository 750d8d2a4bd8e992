import { isJsonList, isJsonObject, type Json, type JsonObject, printJson } from "../../json/lossless.ts";
import type { EmitEvent, FinishReason } from "../../neutral/events.ts";
import { saysSomething } from "../../json/says.ts";
import { hasFound } from "./content-filter.ts";
import { readGoogle } from "./google-signature.ts";

interface OpenCall {
  readonly call: number;
  readonly id: string | undefined;
  /** Pieces of arguments that came before the name; undefined once the call was told. */
  held: string | undefined;
  readonly signature: string | undefined;
}

/** The vendor whose signatures messages callers can give back. */
const SIGNED = "anthropic-claude-v1";
/** Whose compatible API signs calls and messages. */
const GOOGLE = "google-gemini-v1";

/** What a choice says beside text, thinking and calls: told whole, since no other dialect has it. */
const OTHERS: readonly string[] = ["audio", "images", "annotations"];

/** The server broke off (OpenRouter, DeepSeek, Z.ai, vLLM): no reason to stop, so what came is no whole answer (BH-16). */
const FAILURES: ReadonlySet<string> = new Set([
  "error",
  "insufficient_system_resource",
  "network_error",
  "abort",
]);

/** Reads the deltas of one choice, or its message, which says all at once. */
export class ChoiceReader {
  finished = false;
  failed = false;
  readonly #choice: number;
  readonly #emit: EmitEvent;
  readonly #callId: (call: number) => string;
  /** By the provider's own index. */
  readonly #calls = new Map<Json, OpenCall>();
  #opened = 0;
  #refused = false;
  #filtered = "";
  #said = false;

  /** `callId` makes an id for a call that came without one. */
  constructor(choice: number, emit: EmitEvent, callId: (call: number) => string) {
    this.#choice = choice;
    this.#emit = emit;
    this.#callId = callId;
  }

  take(delta: JsonObject): void {
    const choice = this.#choice;
    const details = delta["reasoning_details"];
    if (!isJsonList(details) || !this.#takeDetails(details)) {
      this.#think(textOf(delta["reasoning_content"] ?? delta["reasoning"]));
    }
    const signature = readGoogle(delta["extra_content"]);
    // Before the text that it came with: that is where callers give it back.
    if (signature !== undefined) this.#emit({ type: "signature", choice, signature, format: GOOGLE });
    this.#takeContent(delta["content"]);
    const refusal = textOf(delta["refusal"]);
    if (refusal !== "") {
      this.#refused = true;
      this.#emit({ type: "refusal", choice, text: refusal });
    }
    const calls = delta["tool_calls"];
    for (const [place, call] of (isJsonList(calls) ? calls : []).entries()) {
      if (isJsonObject(call)) this.#takeCall(call, place);
    }
    const called = delta["function_call"];
    if (isJsonObject(called) && saysSomething(called)) this.#takeCall({ function: called }, 0);
    for (const key of OTHERS) {
      const value = delta[key];
      if (typeof value === "object" && saysSomething(value))
        this.#emit({ type: "other", choice, value: { [key]: value } });
    }
  }

  /** What a filter found in the answer (Azure): why it ends, or what is to be looked at. Told as often as it changes. */
  takeFiltered(results: Json | undefined): void {
    if (results === undefined || !hasFound(results)) return;
    const value = { content_filter_results: results };
    const told = printJson(value);
    if (told === this.#filtered) return;
    this.#filtered = told;
    this.#emit({ type: "other", choice: this.#choice, value });
  }

  /** Absent: the stream ended well without saying why. */
  finish(native: string | undefined, fields: JsonObject): void {
    if (this.finished || this.failed || (native === undefined && !this.#said)) return;
    this.failed = native !== undefined && FAILURES.has(native);
    if (this.failed) return;
    this.finished = true;
    const choice = this.#choice;
    for (const open of this.#calls.values()) this.#startCall(open, "");
    for (let call = 0; call < this.#opened; call++) this.#emit({ type: "tool_end", choice, call });
    const meant = native === undefined ? "stop" : finishReasonOf(native);
    const stopSequence = fields["stop_reason"];
    this.#emit({
      type: "finish",
      choice,
      reason: this.#reasonOf(meant, stopSequence),
      native: native ?? "",
      stopSequence: typeof stopSequence === "string" ? stopSequence : undefined,
    });
  }

  /** Servers say `stop` for a call and for a refusal too, and vLLM names the stop sequence beside it. */
  #reasonOf(meant: FinishReason, stopSequence: Json | undefined): FinishReason {
    if (meant !== "stop") return meant;
    if (this.#opened > 0) return "tool_calls";
    if (this.#refused) return "refusal";
    return typeof stopSequence === "string" ? "stop_sequence" : "stop";
  }

  /** OpenRouter's details, which hold the same text and more. False when they say nothing that goes on. */
  #takeDetails(details: readonly Json[]): boolean {
    const choice = this.#choice;
    let said = false;
    for (const detail of details) {
      if (!isJsonObject(detail)) continue;
      const signs = detail["format"] === SIGNED ? SIGNED : undefined;
      const text = textOf(detail["text"]) || textOf(detail["summary"]);
      const signature = textOf(detail["signature"]);
      const data = textOf(detail["data"]);
      if (text !== "") this.#think(text);
      if (signs !== undefined && signature !== "")
        this.#emit({ type: "signature", choice, signature, format: signs });
      if (signs !== undefined && data !== "") this.#emit({ type: "redacted", choice, data, format: signs });
      said ||= text !== "" || signature !== "" || data !== "";
    }
    return said;
  }

  /** A text, or as Mistral has it a list of parts. */
  #takeContent(content: Json | undefined): void {
    if (!isJsonList(content)) {
      this.#say(textOf(content));
      return;
    }
    for (const part of content) {
      if (!isJsonObject(part)) continue;
      if (part["type"] === "thinking") this.#think(textOf(part["thinking"]) || reasoningOf(part["thinking"]));
      else if (part["type"] === "text") this.#say(textOf(part["text"]));
      else this.#emit({ type: "other", choice: this.#choice, value: part });
    }
  }

  #say(text: string): void {
    if (text === "") return;
    this.#said = true;
    this.#emit({ type: "text", choice: this.#choice, text });
  }

  #think(text: string): void {
    if (text !== "") this.#emit({ type: "thinking", choice: this.#choice, text });
  }

  /** Some servers give no index, or one for all: then a new id is a new call. Its name may come after its id. */
  #takeCall(value: JsonObject, place: number): void {
    const called = isJsonObject(value["function"]) ? value["function"] : {};
    const id = textOf(value["id"]) || undefined;
    const key = value["index"] ?? place;
    let open = this.#calls.get(key);
    if (open === undefined || (id !== undefined && open.id !== undefined && open.id !== id)) {
      this.#said = true;
      if (open !== undefined) this.#startCall(open, "");
      open = { call: this.#opened++, id, held: "", signature: readGoogle(value["extra_content"]) };
      this.#calls.set(key, open);
    }
    const name = textOf(called["name"]);
    const json = argumentsText(called["arguments"]);
    if (name !== "") this.#startCall(open, name);
    if (open.held !== undefined) open.held += json;
    else this.#tellArguments(open.call, json);
  }

  #startCall(open: OpenCall, name: string): void {
    const { call, id = this.#callId(call), held, signature } = open;
    if (held === undefined) return;
    open.held = undefined;
    this.#emit({ type: "tool_start", choice: this.#choice, call, id, name, signature });
    this.#tellArguments(call, held);
  }

  #tellArguments(call: number, json: string): void {
    if (json !== "") this.#emit({ type: "tool_args", choice: this.#choice, call, json });
  }
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

/** The text of Mistral's list of thinking. */
function reasoningOf(parts: Json | undefined): string {
  return isJsonList(parts)
    ? parts.map((part) => (isJsonObject(part) ? textOf(part["text"]) : "")).join("")
    : "";
}

/** What `finish_reason` means; servers have words of their own. */
function finishReasonOf(native: string): FinishReason {
  switch (native) {
    case "length":
    case "max_tokens":
    case "model_length":
    case "model_context_window_exceeded":
      return "length";
    case "tool_calls":
    case "function_call":
    case "tool_use":
      return "tool_calls";
    case "content_filter":
    case "refusal":
    case "sensitive":
      return "refusal";
    default:
      return "stop";
  }
}

/** Arguments as text; some servers send the object itself. */
function argumentsText(value: Json | undefined): string {
  if (typeof value === "string") return value;
  return isJsonObject(value) ? printJson(value) : "";
}

import {
  isJsonList,
  isJsonNumber,
  isJsonObject,
  type Json,
  type JsonObject,
  numberOf,
  objectOf,
  printJson,
} from "../../json/lossless.ts";
import { encodeUtf8 } from "../../json/text.ts";
import type { EmitEvent, FinishReason } from "../../neutral/events.ts";
import { continues, PartialArgs, piecesOf } from "./partial-args.ts";

const FORMAT = "google-gemini-v1";

/** The model made no answer that could be used: no reason to stop, but none to go on either. */
const FAILURES: ReadonlySet<string> = new Set([
  "MALFORMED_FUNCTION_CALL",
  "MALFORMED_RESPONSE",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
  "MISSING_THOUGHT_SIGNATURE",
]);

/** What a candidate says beside its content, told once and whole: no other dialect has it. */
const OTHERS: readonly string[] = ["groundingMetadata", "urlContextMetadata", "citationMetadata"];

interface OpenCall {
  readonly call: number;
  readonly args: PartialArgs;
}

/** Reads the pieces of one candidate, or all of it at once. */
export class CandidateReader {
  readonly #choice: number;
  readonly #emit: EmitEvent;
  readonly #idOf: (choice: number, call: number) => string;
  readonly #ids = new Set<string>();
  readonly #earlier: JsonObject[] = [];
  #others: JsonObject = {};
  #open: OpenCall | undefined;
  #calls = 0;
  #native: string | undefined;
  #message: string | undefined;
  #safety: Json | undefined;

  /** `idOf` makes an id for calls that come without one. */
  constructor(choice: number, emit: EmitEvent, idOf: (choice: number, call: number) => string) {
    this.#choice = choice;
    this.#emit = emit;
    this.#idOf = idOf;
  }

  /** It has said why it stopped, for a reason that leaves an answer. */
  get isDone(): boolean {
    return this.#native !== undefined && !FAILURES.has(this.#native);
  }

  take(candidate: JsonObject): void {
    const content = candidate["content"];
    const parts = isJsonObject(content) ? content["parts"] : undefined;
    let logprobs = readLogprobs(candidate["logprobsResult"]);
    for (const part of isJsonList(parts) ? parts : []) {
      if (!isJsonObject(part)) continue;
      const said = this.#takePart(part, logprobs);
      if (said) logprobs = undefined;
    }
    // Of calls and of pieces without text: only who asked for them gets them.
    if (logprobs !== undefined) this.#emit({ type: "text", choice: this.#choice, text: "", logprobs });
    for (const key of OTHERS) {
      const value = candidate[key];
      if (isJsonObject(value) && Object.keys(value).length > 0) this.#keep(key, value);
    }
    this.#takeReason(candidate);
  }

  /** The body is over. Older models say why they stop with every piece, so it is told here, and the last one counts (BH-22). */
  finish(): void {
    const choice = this.#choice;
    this.#closeCall();
    const reason = reasonOf(this.#native ?? "", this.#calls > 0);
    // No other dialect tells a recitation from harm.
    if (reason === "refusal")
      this.#others = { ...this.#others, finishReason: this.#native, safetyRatings: this.#safety };
    for (const value of [...this.#earlier, this.#others]) {
      if (Object.keys(value).length > 0) this.#emit({ type: "other", choice, value });
    }
    const explanation = reason === "refusal" ? this.#message : undefined;
    this.#emit({ type: "finish", choice, reason, native: this.#native ?? "", explanation });
  }

  /** A stream tells all of it again and more, or, of some, only what is new: then what came before stays beside it. */
  #keep(key: string, value: JsonObject): void {
    const before = objectOf(this.#others[key]);
    const told = growsFrom(before, value) ? { ...before, ...value } : value;
    if (told === value) this.#earlier.push({ [key]: before });
    this.#others = { ...this.#others, [key]: told };
  }

  #takeReason(candidate: JsonObject): void {
    const native = candidate["finishReason"];
    const message = candidate["finishMessage"];
    if (typeof native === "string" && native !== "" && native !== "FINISH_REASON_UNSPECIFIED")
      this.#native = native;
    if (typeof message === "string" && message !== "") this.#message = message;
    if (isJsonList(candidate["safetyRatings"])) this.#safety = candidate["safetyRatings"];
  }

  /** Whether the part was text for the caller. */
  #takePart(part: JsonObject, logprobs: readonly Json[] | undefined): boolean {
    const choice = this.#choice;
    const signature = textOf(part["thoughtSignature"]);
    if (isJsonObject(part["functionCall"])) {
      this.#takeCall(part["functionCall"], signature);
      return false;
    }
    const text = part["text"];
    if (part["thought"] === true && typeof text === "string") {
      if (text !== "") this.#emit({ type: "thinking", choice, text });
      this.#sign(signature);
      return false;
    }
    // Before the text that it came with: that is where callers give it back.
    this.#sign(signature);
    if (typeof text !== "string") {
      const { thoughtSignature: _told, ...rest } = part;
      if (Object.keys(rest).length > 0) this.#emit({ type: "other", choice, value: rest });
      return false;
    }
    if (text === "") return false;
    this.#emit(
      logprobs === undefined ? { type: "text", choice, text } : { type: "text", choice, text, logprobs },
    );
    return true;
  }

  #sign(signature: string): void {
    if (signature !== "") this.#emit({ type: "signature", choice: this.#choice, signature, format: FORMAT });
  }

  /** A whole call, the start of one whose arguments follow in pieces, or a piece. */
  #takeCall(value: JsonObject, signature: string): void {
    const name = textOf(value["name"]);
    if (name !== "" || this.#open === undefined) this.#openCall(value, name, signature);
    const open = this.#open;
    if (open === undefined) return;
    for (const piece of piecesOf(value)) open.args.take(piece);
    if (!continues(value)) this.#closeCall();
  }

  #openCall(value: JsonObject, name: string, signature: string): void {
    if (name === "") return;
    this.#closeCall();
    const choice = this.#choice;
    const call = this.#calls++;
    this.#emit({
      type: "tool_start",
      choice,
      call,
      id: this.#uniqueId(textOf(value["id"]), call),
      name,
      signature: signature || undefined,
    });
    const args = value["args"];
    if (isJsonObject(args) && Object.keys(args).length > 0 && !continues(value)) {
      this.#emit({ type: "tool_args", choice, call, json: printJson(args) });
      this.#emit({ type: "tool_end", choice, call });
      return;
    }
    this.#open = { call, args: new PartialArgs() };
  }

  #closeCall(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    const json = open.args.print();
    const choice = this.#choice;
    if (json !== "{}") this.#emit({ type: "tool_args", choice, call: open.call, json });
    this.#emit({ type: "tool_end", choice, call: open.call });
  }

  #uniqueId(own: string, call: number): string {
    const id = own === "" || this.#ids.has(own) ? this.#idOf(this.#choice, call) : own;
    this.#ids.add(id);
    return id;
  }
}

/** A call ends with `STOP` like a text (BH-22). */
function reasonOf(native: string, called: boolean): FinishReason {
  switch (native) {
    case "MAX_TOKENS":
      return "length";
    case "SAFETY":
    case "RECITATION":
    case "BLOCKLIST":
    case "PROHIBITED_CONTENT":
    case "SPII":
    case "LANGUAGE":
    case "MODEL_ARMOR":
    case "IMAGE_SAFETY":
    case "IMAGE_PROHIBITED_CONTENT":
    case "IMAGE_RECITATION":
      return "refusal";
    default:
      return called ? "tool_calls" : "stop";
  }
}

/** Whether each list goes on with what it held before. */
function growsFrom(before: JsonObject, value: JsonObject): boolean {
  return Object.entries(before).every(([key, held]) => {
    const list = value[key];
    if (!isJsonList(held) || list === undefined) return true;
    return isJsonList(list) && held.every((item, place) => isSame(item, list[place]));
  });
}

function isSame(one: Json, other: Json | undefined): boolean {
  return other !== undefined && printJson(one) === printJson(other);
}

/** `logprobsResult` as chat's list of tokens. */
function readLogprobs(value: Json | undefined): readonly Json[] | undefined {
  if (!isJsonObject(value)) return undefined;
  const chosen = value["chosenCandidates"];
  const top = value["topCandidates"];
  if (!isJsonList(chosen) || chosen.length === 0) return undefined;
  return chosen.flatMap((one, place) => {
    const others = isJsonList(top) ? top[place] : undefined;
    const list = isJsonObject(others) ? others["candidates"] : undefined;
    return tokenOf(one).map((token) => ({
      ...token,
      top_logprobs: isJsonList(list) ? list.flatMap(tokenOf) : [],
    }));
  });
}

function tokenOf(value: Json): JsonObject[] {
  if (!isJsonObject(value)) return [];
  const token = textOf(value["token"]);
  const logprob = value["logProbability"];
  return [{ token, logprob: isJsonNumber(logprob) ? numberOf(logprob) : 0, bytes: [...encodeUtf8(token)] }];
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

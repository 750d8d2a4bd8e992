import { isJsonList, isJsonObject, type Json, type JsonObject } from "../../json/lossless.ts";
import type { EmitEvent } from "../../neutral/events.ts";
import { type AnswerContext, AnswerFault, type StreamDecoder } from "../format.ts";
import { callIdOf } from "../../translate/call-id.ts";
import { SseDecoder, type SseHandler } from "../sse-decoder.ts";
import { CandidateReader } from "./candidate-reader.ts";
import { geminiUsage } from "./usage.ts";

/** More than any model gives at once. */
const MAX_CANDIDATES = 128;

/** Tells an answer that does not stream. */
export function decodeGenerated(body: Json, emit: EmitEvent, context: AnswerContext): void {
  if (!isJsonObject(body)) return;
  const handler = new GenerateHandler(emit, context);
  handler.take(body);
  if (!handler.end()) throw new AnswerFault("the model made no usable answer");
}

/** Reads a stream of `streamGenerateContent?alt=sse`. */
export function openGenerateStream(emit: EmitEvent, context: AnswerContext): StreamDecoder {
  return new SseDecoder(new GenerateHandler(emit, context));
}

class GenerateHandler implements SseHandler {
  readonly #emit: EmitEvent;
  readonly #context: AnswerContext;
  readonly #candidates = new Map<number, CandidateReader>();
  #id: string;
  #started = false;
  #blocked:
    | { readonly native: string; readonly message: string | undefined; readonly feedback: JsonObject }
    | undefined;

  constructor(emit: EmitEvent, context: AnswerContext) {
    this.#emit = emit;
    this.#context = context;
    this.#id = context.requestId;
  }

  isError(data: JsonObject): boolean {
    const { error } = data;
    return isJsonObject(error) ? Object.keys(error).length > 0 : Boolean(error);
  }

  onComment(): void {
    this.#emit({ type: "ping" });
  }

  onDone(): void {
    // Not a word of this dialect.
  }

  /** The API has no closing event: that every candidate said why it stopped is the end (BH-16). */
  onEnd(): void {
    this.end();
  }

  take(data: JsonObject): void {
    // Before the start, which tells messages callers what the prompt was.
    const usage = geminiUsage(data["usageMetadata"]);
    if (usage !== undefined) this.#emit({ type: "usage", usage });
    this.#start(data);
    this.#takeFeedback(data["promptFeedback"]);
    const candidates = data["candidates"];
    for (const [place, value] of (isJsonList(candidates) ? candidates : []).entries()) {
      if (!isJsonObject(value)) continue;
      const { index } = value;
      this.#candidateAt(typeof index === "number" ? index : place)?.take(value);
    }
  }

  /** Tells the end, where there is one. */
  end(): boolean {
    const candidates = [...this.#candidates.values()];
    if (candidates.length === 0 && this.#blocked !== undefined) {
      const { native, message, feedback } = this.#blocked;
      this.#emit({ type: "other", choice: 0, value: { promptFeedback: feedback } });
      this.#emit({ type: "finish", choice: 0, reason: "refusal", native, explanation: message });
    } else if (candidates.length === 0 || !candidates.every(({ isDone }) => isDone)) return false;
    for (const candidate of candidates) candidate.finish();
    this.#emit({ type: "end" });
    return true;
  }

  #start(data: JsonObject): void {
    if (this.#started) return;
    this.#started = true;
    const { responseId, modelVersion } = data;
    const id = typeof responseId === "string" && responseId !== "" ? responseId : undefined;
    this.#id = id ?? this.#context.requestId;
    const model = typeof modelVersion === "string" && modelVersion !== "" ? modelVersion : undefined;
    this.#emit({ type: "start", id, model });
  }

  #takeFeedback(feedback: Json | undefined): void {
    if (!isJsonObject(feedback)) return;
    const native = feedback["blockReason"];
    if (typeof native !== "string" || native === "" || native === "BLOCK_REASON_UNSPECIFIED") return;
    const message = feedback["blockReasonMessage"];
    this.#blocked = { native, message: typeof message === "string" ? message : undefined, feedback };
  }

  #candidateAt(index: number): CandidateReader | undefined {
    if (!Number.isInteger(index) || index < 0 || index >= MAX_CANDIDATES) return undefined;
    let candidate = this.#candidates.get(index);
    if (candidate === undefined) {
      candidate = new CandidateReader(index, this.#emit, (choice, call) => callIdOf(this.#id, choice, call));
      this.#candidates.set(index, candidate);
    }
    return candidate;
  }
}

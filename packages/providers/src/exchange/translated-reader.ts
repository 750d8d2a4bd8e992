import type { StreamReader, StreamVerdict } from "../dialects/dialect.ts";
import type { TokenUsage } from "../neutral/usage.ts";
import { encodeUtf8 } from "../json/text.ts";
import { type AnswerEvent, commits } from "../neutral/events.ts";
import { markSignatures, type Origin } from "../origin/own-signatures.ts";
import type { AnswerContext, ProviderFormat, StreamDecoder, StreamEncoder } from "../dialects/format.ts";

/** Follows a provider's stream and tells it in the caller's dialect, event by event (P4). Judged as one that passes through (E6). */
export class TranslatedStreamReader implements StreamReader {
  committed = false;
  done = false;
  overflowed = false;
  model: string | undefined;
  usage: TokenUsage | undefined;

  readonly #decoder: StreamDecoder;
  readonly #encoder: StreamEncoder;
  #text = "";

  constructor(from: ProviderFormat, encoder: StreamEncoder, context: AnswerContext, origin?: Origin) {
    this.#encoder = encoder;
    const emit = markSignatures((event) => this.#take(event), origin);
    this.#decoder = from.openStream(emit, context);
  }

  get terminal(): boolean {
    return this.done;
  }

  /** After the end of an answer nothing can fail it. */
  get failure(): Uint8Array | undefined {
    return this.done ? undefined : this.#decoder.failure;
  }

  get sequence(): number {
    return this.#encoder.sequence ?? 0;
  }

  push(bytes: Uint8Array, out: Uint8Array[]): void {
    if (!this.#decoder.push(bytes)) this.overflowed = true;
    this.#flush(out);
  }

  finish(out: Uint8Array[]): StreamVerdict {
    this.#decoder.finish();
    this.#flush(out);
    if (this.failure !== undefined || this.overflowed) return "cut";
    if (!this.#decoder.sawData) return "empty";
    if (!this.committed) return this.done ? "empty" : "cut";
    return this.done ? "complete" : "cut";
  }

  pulse(): Uint8Array | undefined {
    if (this.done || this.failure !== undefined) return undefined;
    return encodeUtf8(this.#encoder.encode({ type: "ping" }));
  }

  #take(event: AnswerEvent): void {
    if (this.done) return;
    if (event.type === "start") this.model ??= event.model;
    if (event.type === "usage") this.usage = event.usage;
    if (event.type === "end") this.done = true;
    if (commits(event)) this.committed = true;
    this.#text += this.#encoder.encode(event);
  }

  #flush(out: Uint8Array[]): void {
    if (this.#text === "") return;
    out.push(encodeUtf8(this.#text));
    this.#text = "";
  }
}

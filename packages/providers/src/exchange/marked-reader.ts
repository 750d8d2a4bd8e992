import type { StreamReader, StreamVerdict } from "../dialects/dialect.ts";
import type { TokenUsage } from "../neutral/usage.ts";
import { marked, type MarkedKey } from "../origin/origin-marks.ts";

/** A stream that passes through, with a mark on what only its account can read or check (BH-31). */
export class MarkedStreamReader implements StreamReader {
  readonly #reader: StreamReader;
  readonly #origin: string;
  readonly #keys: readonly MarkedKey[];

  constructor(reader: StreamReader, origin: string, keys: readonly MarkedKey[]) {
    this.#reader = reader;
    this.#origin = origin;
    this.#keys = keys;
  }

  get committed(): boolean {
    return this.#reader.committed;
  }

  get terminal(): boolean {
    return this.#reader.terminal;
  }

  get done(): boolean {
    return this.#reader.done;
  }

  get failure(): Uint8Array | undefined {
    return this.#reader.failure;
  }

  get overflowed(): boolean {
    return this.#reader.overflowed;
  }

  get model(): string | undefined {
    return this.#reader.model;
  }

  get usage(): TokenUsage | undefined {
    return this.#reader.usage;
  }

  get keeps(): readonly string[] {
    return this.#reader.keeps ?? [];
  }

  get sequence(): number {
    return this.#reader.sequence ?? 0;
  }

  push(bytes: Uint8Array, out: Uint8Array[]): void {
    const from = out.length;
    this.#reader.push(bytes, out);
    this.#mark(out, from);
  }

  finish(out: Uint8Array[]): StreamVerdict {
    const from = out.length;
    const verdict = this.#reader.finish(out);
    this.#mark(out, from);
    return verdict;
  }

  /** What goes on is whole events, so no key and no value is divided. */
  #mark(out: Uint8Array[], from: number): void {
    for (let place = from; place < out.length; place++) {
      for (const key of this.#keys) out[place] = marked(out[place] as Uint8Array, this.#origin, key);
    }
  }
}

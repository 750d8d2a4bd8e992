import { writeSync } from "node:fs";

/** How long a line may wait in memory before it is written, ms. */
const FLUSH_EVERY_MS = 200;
const FLUSH_AT_CHARS = 16_384;
/** What is kept for a reader that does not read; more is dropped, and said so. */
const KEPT_CHARS = 1_048_576;

/** Takes bytes; gives how many were written. Throws `EAGAIN` when the reader is full. */
export type WriteBytes = (bytes: Uint8Array) => number;

/**
 * Gathers lines and writes them together, at least every 200 ms and at exit, so that a request does not pay for a
 * system call. A reader that stops reading costs lines, never memory or time.
 */
export class LineBuffer {
  readonly #write: WriteBytes;
  #lines: string[] = [];
  #chars = 0;
  #rest: Uint8Array = new Uint8Array(0);
  #dropped = 0;

  constructor(write: WriteBytes) {
    this.#write = write;
    setInterval(() => this.flush(), FLUSH_EVERY_MS).unref();
    process.on("exit", () => this.flush());
  }

  write(line: string): void {
    if (this.#chars + this.#rest.length > KEPT_CHARS) {
      this.#dropped += 1;
      return;
    }
    this.#lines.push(line);
    this.#chars += line.length;
    if (this.#chars >= FLUSH_AT_CHARS) this.flush();
  }

  flush(): void {
    if (this.#lines.length === 0 && this.#rest.length === 0) return;
    const gathered = Buffer.from(this.#lines.join(""));
    this.#lines = [];
    this.#chars = 0;
    this.#rest = this.#rest.length === 0 ? gathered : Buffer.concat([this.#rest, gathered]);
    this.#drain();
    if (this.#rest.length === 0 && this.#dropped > 0) this.#tellDropped();
  }

  #drain(): void {
    try {
      while (this.#rest.length > 0) this.#rest = this.#rest.subarray(this.#write(this.#rest));
    } catch (error) {
      // A full reader gets the rest later. One that is gone never does, and there is no better place to say so.
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") this.#rest = new Uint8Array(0);
    }
  }

  #tellDropped(): void {
    const message = `${this.#dropped} log lines were dropped: nobody read them in time`;
    this.#dropped = 0;
    this.write(`${JSON.stringify({ level: "warn", time: new Date().toISOString(), message })}\n`);
  }
}

/** Lines to stderr. */
export function stderrLines(): LineBuffer {
  return new LineBuffer((bytes) => writeSync(2, bytes));
}

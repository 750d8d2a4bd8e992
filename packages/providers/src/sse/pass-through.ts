import type { SseEvent } from "./event.ts";

/** Gathers the events that go on as they are: those in a row go on as one run of bytes, nothing is copied. */
export class PassThrough {
  #out: Uint8Array[] = [];
  #run: Uint8Array | undefined;
  #runStart = 0;
  #runEnd = 0;

  /** What goes on from here is appended to `out`. */
  open(out: Uint8Array[]): void {
    this.#out = out;
  }

  forward(event: SseEvent): void {
    if (this.#run === event.bytes && this.#runEnd === event.start) {
      this.#runEnd = event.end;
      return;
    }
    this.flush();
    this.#run = event.bytes;
    this.#runStart = event.start;
    this.#runEnd = event.end;
  }

  /** Lets other bytes on, after all that was forwarded. */
  write(...pieces: Uint8Array[]): void {
    this.flush();
    this.#out.push(...pieces);
  }

  flush(): void {
    if (this.#run === undefined) return;
    const whole = this.#runStart === 0 && this.#runEnd === this.#run.length;
    this.#out.push(whole ? this.#run : this.#run.subarray(this.#runStart, this.#runEnd));
    this.#run = undefined;
  }
}

import { copyRange, trimEnd } from "../json/text.ts";
import { isBareJson } from "../sse/bare-json.ts";
import type { SseEvent } from "../sse/event.ts";
import { SseFramer } from "../sse/framer.ts";
import { PassThrough } from "../sse/pass-through.ts";
import type { StreamReader, StreamVerdict } from "./dialect.ts";
import type { TokenUsage } from "../neutral/usage.ts";

/**
 * A stream of events that goes on to the caller in its own dialect (P1): finds the events, and says at the end what became of the attempt
 * (E6). What an event means is the dialect's, in `takeData`; the event of an error and all after it do not go on.
 */
export abstract class PassingStream implements StreamReader {
  committed = false;
  terminal = false;
  done = false;
  failure: Uint8Array | undefined;
  model: string | undefined;
  overflowed = false;
  abstract readonly usage: TokenUsage | undefined;

  protected readonly passed = new PassThrough();
  /** An event with data of the dialect's came. */
  protected sawData = false;
  /** What comes now is what a cut left over. */
  protected ending = false;
  readonly #framer = new SseFramer((event) => this.#take(event));

  push(bytes: Uint8Array, out: Uint8Array[]): void {
    if (this.failure !== undefined) return;
    this.passed.open(out);
    if (!this.#framer.push(bytes)) this.overflowed = true;
    this.passed.flush();
  }

  finish(out: Uint8Array[]): StreamVerdict {
    this.passed.open(out);
    this.ending = true;
    if (this.failure === undefined) this.#framer.finish();
    this.passed.flush();
    if (this.failure !== undefined || this.overflowed) return "cut";
    if (!this.sawData) return "empty";
    if (!this.committed) return this.done ? "empty" : "cut";
    return this.terminal ? "complete" : "cut";
  }

  /** The data of one event, `start` to `end` of `bytes`; the event's own bytes where it has one line of data. */
  protected abstract takeData(event: SseEvent, bytes: Uint8Array, start: number, end: number): void;

  #take(event: SseEvent): void {
    if (this.failure !== undefined) return;
    const wasDone = this.done;
    this.#takeWhole(event);
    // After the end of an answer nothing can fail it.
    if (!wasDone || this.failure === undefined) return;
    this.failure = undefined;
    this.passed.forward(event);
  }

  #takeWhole(event: SseEvent): void {
    if (isBareJson(event)) {
      // A server that fails on its way may go on with a plain JSON error, as if the stream had never begun.
      this.failure = copyRange(
        event.bytes,
        event.firstLine,
        trimEnd(event.bytes, event.firstLine, event.end),
      );
    } else if (event.dataLines === 0) {
      // Of an end that was cut off nothing is lost when it held no data.
      if (!this.ending) this.passed.forward(event);
    } else if (event.dataLines === 1) {
      this.takeData(event, event.bytes, event.dataStart, event.dataEnd);
    } else {
      const data = event.joinedData();
      this.takeData(event, data, 0, data.length);
    }
  }
}

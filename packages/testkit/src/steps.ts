/** What an answer does besides writing bytes. `flush` without `ms` takes the provider's flush time (30 ms). */
export type Control =
  | { readonly do: "flush"; readonly ms?: number }
  | { readonly do: "until"; readonly opened: Promise<unknown> }
  | { readonly do: "flood"; readonly blocks: () => Iterable<readonly string[]> }
  | { readonly do: "eof" | "fin" | "rst" | "hang" };

/** One step of a body. Data steps that follow each other are one TCP write (and one HTTP chunk). */
export type Step = string | Uint8Array | Control;

/** `‖` of the cases: flush, wait 30 ms (the provider's `flushMs`), next TCP write. */
export const FLUSH: Control = { do: "flush" };
/** Next TCP write, without a wait. */
export const NEXT: Control = { do: "flush", ms: 0 };
/** Clean end of the body. The end of the steps means the same. */
export const EOF: Control = { do: "eof" };
/** Orderly close of the socket in the middle of the body: no last chunk, fewer bytes than announced. */
export const FIN: Control = { do: "fin" };
/** Connection reset. */
export const RST: Control = { do: "rst" };
/** Keep the socket open and send nothing more, until the peer or the provider closes. */
export const HANG: Control = { do: "hang" };

/** Flush, then wait that many milliseconds. */
export function wait(ms: number): Control {
  return { do: "flush", ms };
}

/** Flush, then wait until the promise settles; the test decides when the answer goes on. */
export function until(opened: Promise<unknown>): Control {
  return { do: "until", opened };
}

/** Each piece in its own write, `ms` apart. */
export function paced(ms: number, pieces: readonly (string | Uint8Array)[]): Step[] {
  return pieces.flatMap((piece) => [piece, wait(ms)]);
}

/** One byte per write, `everyMs` apart (0: as fast as writes complete). */
export function drip(data: string | Uint8Array, everyMs = 0): Step[] {
  return paced(
    everyMs,
    Array.from(Buffer.from(data), (byte) => Uint8Array.of(byte)),
  );
}

/** Cuts data at byte offsets and puts `‖` between the parts. */
export function cutAt(data: string | Uint8Array, offsets: readonly number[]): Step[] {
  const bytes = Buffer.from(data);
  const bounds = [0, ...offsets, bytes.length];
  return bounds.slice(1).flatMap((end, index) => {
    const part = bytes.subarray(bounds[index] ?? 0, end);
    return index === 0 ? [part] : [FLUSH, part];
  });
}

const EVENT_TEXT = 1024;
const EVENTS_PER_WRITE = 64;
const LINE_PIECE = "x".repeat(64 * 1024);

/** The text of the n-th event of a flood: 1 KiB that begins with its number, so loss and disorder show. */
export function floodText(n: number): string {
  return `${n} `.padEnd(EVENT_TEXT, "abcdefghijklmnop");
}

/**
 * BH-42: `events` SSE events of 1 KiB text each, written as fast as the socket takes them and no faster;
 * `call.bytesAccepted` tells how far it came. `toEvent` frames one text, e.g. `(t) => CH({ content: t }, null)`.
 */
export function flood(events: number, toEvent: (text: string) => string): Control {
  return {
    do: "flood",
    *blocks() {
      for (let from = 0; from < events; from += EVENTS_PER_WRITE) {
        const count = Math.min(EVENTS_PER_WRITE, events - from);
        yield Array.from({ length: count }, (_, index) => toEvent(floodText(from + index)));
      }
    },
  };
}

/** BH-42: one SSE line of about `mib` MiB that never ends (`data: xxxx…`). */
export function endlessLine(mib: number): Control {
  return {
    do: "flood",
    *blocks() {
      yield ["data: "];
      for (let piece = 0; piece < mib * 16; piece += 1) yield [LINE_PIECE];
    },
  };
}

import type { ConnectError } from "@connectrpc/connect";
import type { Sink } from "./service.ts";

/**
 * A server stream as an async iterable, for readers off the hot path: `for await (const m of readStream((sink) =>
 * service.watch(request, sink, call)))`. At most `capacity` messages wait before the producer is told to pause.
 * The reader that leaves early calls `cancel` of its own call; `onLeave` is the place.
 */
export async function* readStream<M>(
  start: (sink: Sink<M>) => void,
  options: { capacity?: number; onLeave?: () => void } = {},
): AsyncGenerator<M, void, undefined> {
  const capacity = options.capacity ?? 16;
  let waiting: M[] = [];
  let over = false;
  let error: ConnectError | undefined;
  let wake: (() => void) | undefined;
  let drain: (() => void) | undefined;
  let full = false;
  const finish = (cause?: ConnectError): void => {
    if (over) return;
    over = true;
    error = cause;
    wake?.();
  };
  start({
    send(message) {
      if (over) return false;
      waiting.push(message);
      wake?.();
      full = waiting.length >= capacity;
      return !full;
    },
    end: () => finish(),
    fail: (cause) => finish(cause),
    onDrain(listener) {
      drain = listener;
    },
  });
  let complete = false;
  try {
    for (;;) {
      if (waiting.length > 0) {
        const batch = waiting;
        waiting = [];
        yield* batch;
        continue;
      }
      if (over) break;
      if (full) {
        full = false;
        drain?.();
        continue;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      wake = undefined;
    }
    complete = true;
    if (error !== undefined) throw error;
  } finally {
    over = true;
    if (!complete) options.onLeave?.();
  }
}

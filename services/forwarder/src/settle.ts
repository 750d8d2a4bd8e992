/**
 * Goes on with what a call gives; a value that is there at once costs no turn of the event loop and no timer. What
 * `onValue` throws goes to `onError` too: nobody else is there to hear of it. An answer that takes longer than
 * `withinMs` is an error, and is ignored when it comes.
 *
 * @returns how to stop waiting, where it waits: neither is called any more
 */
export function settle<T>(
  call: () => T | Promise<T>,
  onValue: (value: T) => void,
  onError: (error: unknown) => void,
  withinMs: number,
): (() => void) | undefined {
  try {
    const value = call();
    if (value instanceof Promise) return settleLater(value, onValue, onError, withinMs);
    onValue(value);
  } catch (error) {
    onError(error);
  }
  return undefined;
}

function settleLater<T>(
  promise: Promise<T>,
  onValue: (value: T) => void,
  onError: (error: unknown) => void,
  withinMs: number,
): () => void {
  let waiting = true;
  const stop = (): void => {
    waiting = false;
    clearTimeout(timer);
  };
  const timer = setTimeout(() => {
    stop();
    onError(new Error(`no answer within ${withinMs} ms`));
  }, withinMs);
  const take = (value: T): void => {
    if (!waiting) return;
    stop();
    try {
      onValue(value);
    } catch (error) {
      onError(error);
    }
  };
  const refuse = (error: unknown): void => {
    if (!waiting) return;
    stop();
    onError(error);
  };
  void promise.then(take, refuse);
  return stop;
}

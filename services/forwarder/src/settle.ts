/**
 * Goes on with what a call gives; a value that is there at once costs no turn of the event loop. What `onValue`
 * throws goes to `onError` too: nobody else is there to hear of it.
 */
export function settle<T>(
  call: () => T | Promise<T>,
  onValue: (value: T) => void,
  onError: (error: unknown) => void,
): void {
  try {
    const value = call();
    if (value instanceof Promise) void value.then(onValue).catch(onError);
    else onValue(value);
  } catch (error) {
    onError(error);
  }
}

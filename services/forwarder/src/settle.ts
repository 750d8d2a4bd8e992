/** Goes on with a value that may still be on its way; one that is there costs no turn of the event loop. */
export function settle<T>(
  value: T | Promise<T>,
  onValue: (value: T) => void,
  onError: (error: unknown) => void,
): void {
  if (value instanceof Promise) value.then(onValue).catch(onError);
  else onValue(value);
}

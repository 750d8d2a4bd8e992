/** The promise's value, or an error with the given words once `ms` milliseconds have passed. */
export async function within<T>(ms: number, promise: Promise<T>, describe: () => string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`not within ${ms} ms: ${describe()}`)), ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

import { BusUnavailableError } from "../bus.ts";

/** The promise's outcome, or a `BusUnavailableError` after `ms`; what comes later is dropped. */
export async function settleWithin<T>(ms: number, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new BusUnavailableError(`no answer within ${ms} ms`)), ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

import { parseHttpDate } from "./http-date.ts";

const decimal = /^\d{1,15}(?:\.\d{1,9})?$/;

/**
 * How long a provider asks to wait, in milliseconds (E2): `retry-after-ms`, then `Retry-After` as seconds or HTTP-date.
 * The `x-ratelimit-reset-*` headers are not read: they stand on every answer and tell when a window is full again,
 * not when a request is welcome.
 * @param header looks a header up by its lower-case name
 * @param now epoch milliseconds
 * @returns a whole number from 0 (a date in the past is 0), or undefined where nothing readable was said
 */
export function retryAfterMs(header: (name: string) => string | undefined, now: number): number | undefined {
  const exact = amount(header("retry-after-ms"), 1);
  // Azure sends `retry-after-ms: 0` beside a `retry-after` that is longer.
  if (exact !== undefined && exact > 0) return exact;
  const text = header("retry-after");
  const seconds = amount(text, 1000);
  if (seconds !== undefined) return seconds;
  const date = text === undefined ? undefined : parseHttpDate(text, now);
  return date === undefined ? exact : Math.max(0, Math.ceil(date - now));
}

function amount(text: string | undefined, unitMs: number): number | undefined {
  const trimmed = text?.trim();
  return trimmed !== undefined && decimal.test(trimmed) ? Math.ceil(Number(trimmed) * unitMs) : undefined;
}

// The duration in text form of `google.rpc.RetryInfo`; the name is nobody else's.
const retryDelay = /"retryDelay"\s*:\s*"(\d{1,9}(?:\.\d{1,9})?)s"/;

/** How long an error body asks to wait, in milliseconds: Google says it in no header. */
export function bodyRetryAfterMs(body: string): number | undefined {
  return amount(retryDelay.exec(body)?.[1], 1000);
}

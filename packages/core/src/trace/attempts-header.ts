import type { AttemptOutcome } from "../domain/attempt.ts";
import type { ErrorClass } from "../domain/error-class.ts";

/** Most bytes of `x-ants-attempts` (H1). */
export const MAX_HEADER_BYTES = 4_096;

/** Most UTF-16 code units of a message. */
const MAX_MESSAGE = 200;

/** One attempt as `x-ants-attempts` and the trace show it. */
export interface AttemptRow {
  readonly deployment: string;
  readonly outcome: AttemptOutcome;
  /** How long it took, ms; whole numbers are shown. */
  readonly ms: number;
  /** HTTP status, where the provider answered. */
  readonly status?: number | undefined;
  readonly error?: ErrorClass | undefined;
  /** In the provider's words, cut at 200 characters. */
  readonly message?: string | undefined;
}

/**
 * The value of `x-ants-attempts` (H1): a JSON array, ASCII only, oldest attempt first. Over
 * {@link MAX_HEADER_BYTES} all messages are left out, then the oldest attempts: how a request ended matters most.
 */
export function formatAttemptsHeader(attempts: readonly AttemptRow[]): string {
  const full = joinRows(attempts.map((row) => formatRow(row, true)));
  if (full.length <= MAX_HEADER_BYTES) return full;
  const short = attempts.map((row) => formatRow(row, false));
  let size = joinRows(short).length;
  let first = 0;
  while (size > MAX_HEADER_BYTES && first < short.length) {
    size -= (short[first]?.length ?? 0) + 1;
    first += 1;
  }
  return joinRows(short.slice(first));
}

function joinRows(rows: readonly string[]): string {
  return `[${rows.join(",")}]`;
}

function formatRow(row: AttemptRow, withMessage: boolean): string {
  const message = withMessage && row.message !== undefined ? cut(row.message) : undefined;
  const { deployment, outcome, status, error } = row;
  return toAscii(JSON.stringify({ deployment, outcome, ms: Math.round(row.ms), status, error, message }));
}

/** At most 200 characters, and never half of a surrogate pair. */
function cut(message: string): string {
  if (message.length <= MAX_MESSAGE) return message;
  const last = message.charCodeAt(MAX_MESSAGE - 1);
  const splits = last >= 0xd800 && last <= 0xdbff;
  return message.slice(0, splits ? MAX_MESSAGE - 1 : MAX_MESSAGE);
}

/** JSON with everything outside printable ASCII escaped; JSON.stringify has escaped control characters already. */
function toAscii(json: string): string {
  let ascii = "";
  let copied = 0;
  for (let index = 0; index < json.length; index += 1) {
    const unit = json.charCodeAt(index);
    if (unit < 0x7f) continue;
    ascii += `${json.slice(copied, index)}\\u${unit.toString(16).padStart(4, "0")}`;
    copied = index + 1;
  }
  return copied === 0 ? json : ascii + json.slice(copied);
}

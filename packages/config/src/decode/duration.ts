import { create } from "@bufbuild/protobuf";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import type { Duration } from "@bufbuild/protobuf/wkt";

const FORM = /^(\d{1,12})(?:\.(\d{1,9}))?(ms|s|m|h)$/;
const NANOS_PER_UNIT = { ms: 1_000_000n, s: 1_000_000_000n, m: 60_000_000_000n, h: 3_600_000_000_000n };
const NANOS_PER_SECOND = 1_000_000_000n;
const NANOS_PER_MS = 1_000_000;
/** protobuf's own bound: about ten thousand years. */
const MAX_SECONDS = 315_576_000_000n;

/** Reads `250ms`, `8s`, `1.5s`, `5m`, `1h`; undefined for anything else, also for what protobuf could not hold. */
export function parseDuration(text: string): Duration | undefined {
  const match = FORM.exec(text);
  if (match === null) return undefined;
  const [, whole = "0", fraction = "", unit = "s"] = match;
  const perUnit = NANOS_PER_UNIT[unit as keyof typeof NANOS_PER_UNIT];
  const scale = 10n ** BigInt(fraction.length);
  const scaled = BigInt(whole + fraction) * perUnit;
  // A fraction of a nanosecond is rounded up, so that what was written as more than nothing stays more than nothing.
  const nanos = (scaled + scale - 1n) / scale;
  const seconds = nanos / NANOS_PER_SECOND;
  if (seconds > MAX_SECONDS) return undefined;
  return create(DurationSchema, { seconds, nanos: Number(nanos % NANOS_PER_SECOND) });
}

/** Writes a duration as {@link parseDuration} reads it: `300s`, `250ms`, `1.5s`. */
export function formatDuration(duration: Duration): string {
  if (duration.nanos === 0) return `${duration.seconds}s`;
  if (duration.seconds === 0n && duration.nanos % NANOS_PER_MS === 0) {
    return `${duration.nanos / NANOS_PER_MS}ms`;
  }
  const fraction = String(duration.nanos).padStart(9, "0").replace(/0+$/, "");
  return `${duration.seconds}.${fraction}s`;
}

/** Milliseconds, rounded up so that a short time does not become 0, which means "off". */
export function durationMs(duration: Duration): number {
  return Number(duration.seconds) * 1000 + Math.ceil(duration.nanos / NANOS_PER_MS);
}

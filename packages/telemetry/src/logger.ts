import { pino } from "pino";
import type { DestinationStream } from "pino";
import { stderrLines } from "./line-buffer.ts";

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Facts of one log line. Never a secret, a prompt, a completion or an affinity key (invariant 9). */
export type LogFields = Readonly<
  Record<string, string | number | boolean | readonly string[] | null | undefined>
>;

/** One JSON line per call. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  child(fields: LogFields): Logger;
  /** Writes out what is buffered. */
  flush(): void;
}

/** Writes JSON lines to stderr, gathered, or to `destination` at once. */
export function createLogger(options: { level?: LogLevel; destination?: DestinationStream } = {}): Logger {
  const settings = {
    level: options.level ?? "info",
    base: null,
    messageKey: "message",
    formatters: { level: (label: string) => ({ level: label }) },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
  };
  if (options.destination !== undefined) return adapt(pino(settings, options.destination), () => {});
  const lines = stderrLines();
  return adapt(pino(settings, lines), () => lines.flush());
}

/** A logger that says nothing. */
export const SILENT: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => SILENT,
  flush() {},
};

type PinoLike = Pick<ReturnType<typeof pino>, "debug" | "info" | "warn" | "error"> & {
  child(fields: object): PinoLike;
};

function adapt(inner: PinoLike, flush: () => void): Logger {
  return {
    debug: (message, fields) => inner.debug(fields ?? {}, message),
    info: (message, fields) => inner.info(fields ?? {}, message),
    warn: (message, fields) => inner.warn(fields ?? {}, message),
    error: (message, fields) => {
      inner.error(fields ?? {}, message);
      flush();
    },
    child: (fields) => adapt(inner.child(fields), flush),
    flush,
  };
}

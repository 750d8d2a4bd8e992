import { ConnectError } from "@switchyard/rpc";

/**
 * A fault of our own in words fit for a log line: what it is and where it happened. Its text is left out, because
 * parsers quote what they choke on (invariant 9); that of a ConnectError is made for others to read.
 */
export function describeFault(error: unknown): string {
  if (error instanceof ConnectError) return error.rawMessage;
  if (!(error instanceof Error)) return "unknown";
  const place = error.stack?.split("\n").find((line) => line.startsWith("    at "));
  return place === undefined ? error.name : `${error.name} ${place.trim()}`;
}

import { Code, ConnectError } from "@connectrpc/connect";

const token = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const visible = /^[\t\x20-\x7e\x80-\xff]*$/;
const ofHttp = new Set([
  "accept",
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
]);

/** Whether a field belongs to the protocols rather than to the application. */
export function isProtocolField(name: string): boolean {
  return ofHttp.has(name) || name.startsWith("connect-") || name.startsWith("grpc-") || name.startsWith(":");
}

/** A metadata field as a header line; throws for what would break the message apart. */
export function headerLine(name: string, value: string): string {
  if (!token.test(name) || !visible.test(value)) {
    throw new ConnectError(`metadata ${JSON.stringify(name)} cannot be a header`, Code.InvalidArgument);
  }
  return `${name}: ${value}\r\n`;
}

/** Milliseconds of `connect-timeout-ms`; undefined without one, "bad" when malformed. */
export function parseTimeout(value: string | undefined): number | undefined | "bad" {
  if (value === undefined) return undefined;
  return /^\d{1,10}$/.test(value) ? Number(value) : "bad";
}

// setTimeout takes 31 bits; what is longer needs no timer.
const longest = 0x7fff_ffff;

/** Calls back at a deadline (epoch ms); undefined when there is none to wait for. */
export function atDeadline(deadline: number | undefined, expire: () => void): NodeJS.Timeout | undefined {
  if (deadline === undefined) return undefined;
  const wait = Math.max(0, deadline - Date.now());
  return wait > longest ? undefined : setTimeout(expire, wait);
}

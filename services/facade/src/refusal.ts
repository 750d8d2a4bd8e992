import { type CallerError, type Dialect, dialectOf } from "@switchyard/providers";
import type { Failure } from "@switchyard/rpc";
import type { Face } from "./routes.ts";

/** What goes wrong before an answer: the facade's own refusals have the shape of those that services send. */
export type Refusal = Pick<Failure, "code" | "status" | "message" | "metadata">;

/** Metadata names that start so are response headers. */
const HEADER_PREFIX = "header:";
/** Statuses under 500 that may be over in a moment. */
const PASSING: ReadonlySet<number> = new Set([408, 409, 429, 499]);
const NO_METADATA: Readonly<Record<string, string>> = {};

const OPENAI = dialectOf("chat");
const ANTHROPIC = dialectOf("messages");

/** A refusal of the facade's own; `headers` go to the caller as they are. */
export function refusal(
  status: number,
  code: string,
  message: string,
  headers?: Readonly<Record<string, string>>,
): Refusal {
  if (headers === undefined) return { status, code, message, metadata: NO_METADATA };
  const metadata: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) metadata[HEADER_PREFIX + name] = value;
  return { status, code, message, metadata };
}

/** Load shedding: worth trying again soon, and elsewhere. */
export const OVERLOADED: Refusal = {
  status: 503,
  code: "overloaded",
  message: "the gateway is at its limit of requests in flight; try again shortly",
  metadata: { retry_after_ms: "1000" },
};

/** The error body in the caller's dialect (H3). */
export function errorBody(face: Face, cause: Refusal, requestId: string): Uint8Array {
  return dialectFor(face).errorBody(callerError(cause), requestId);
}

/** Response headers that a refusal carries, names and values in turn; without framing. */
export function errorHeaders(cause: Refusal): string[] {
  const headers = ["content-type", "application/json"];
  for (const [name, value] of Object.entries(cause.metadata)) {
    if (name.startsWith(HEADER_PREFIX)) headers.push(name.slice(HEADER_PREFIX.length), value);
    else if (name === "attempts") headers.push("x-ants-attempts", value);
    else if (name === "should_retry") continue;
    else if (name === "retry_after_ms") {
      const wait = Number(value);
      if (!Number.isFinite(wait) || wait < 0) continue;
      headers.push("retry-after", String(Math.ceil(wait / 1000)), "retry-after-ms", String(Math.ceil(wait)));
    }
  }
  const retry = cause.metadata["should_retry"] ?? (isCallersOwn(cause.status) ? "false" : undefined);
  if (retry !== undefined) headers.push("x-should-retry", retry);
  return headers;
}

/** Whether a refusal is for the caller to mend, so that the same request meets it again. */
function isCallersOwn(status: number): boolean {
  return status >= 400 && status < 500 && !PASSING.has(status);
}

/**
 * The event that ends a stream which cannot go on, in the caller's dialect and without `[DONE]` (E6). `sent` is the last
 * piece that went out: an event that it leaves open is closed first.
 */
export function errorEvent(face: Face, cause: Refusal, requestId: string, sent?: Uint8Array): Uint8Array {
  const event =
    face === "responses"
      ? responsesEvent(cause, sent)
      : dialectFor(face).errorEvent(callerError(cause), requestId);
  if (sent === undefined || endsWithBlankLine(sent)) return event;
  return Buffer.concat([Buffer.from("\n\n"), event]);
}

function dialectFor(face: Face): Dialect {
  return face === "anthropic" ? ANTHROPIC : OPENAI;
}

function callerError({ status, code, message, metadata }: Refusal): CallerError {
  return { status, code, message, param: metadata["param"] ?? null };
}

function responsesEvent({ code, message, metadata }: Refusal, sent: Uint8Array | undefined): Uint8Array {
  const error = {
    type: "error",
    code,
    message,
    param: metadata["param"] ?? null,
    sequence_number: toldSequenceNumber(metadata["sequence"]) ?? nextSequenceNumber(sent),
  };
  return Buffer.from(`event: error\ndata: ${JSON.stringify(error)}\n\n`);
}

function toldSequenceNumber(told: string | undefined): number | undefined {
  return told !== undefined && /^\d{1,15}$/.test(told) ? Number(told) : undefined;
}

const SEQUENCE_NUMBER = /"sequence_number"\s*:\s*(\d{1,15})/g;

/** Read from the last bytes only when a stream breaks, so that a good one is never looked into. */
function nextSequenceNumber(sent: Uint8Array | undefined): number {
  if (sent === undefined) return 0;
  const text = Buffer.from(sent.buffer, sent.byteOffset, sent.byteLength).toString("latin1");
  const last = [...text.matchAll(SEQUENCE_NUMBER)].at(-1)?.[1];
  return last === undefined ? 0 : Number(last) + 1;
}

/** Said of the last piece alone: where a blank line is divided over pieces another one does no harm. */
function endsWithBlankLine(piece: Uint8Array): boolean {
  const tail = Buffer.from(piece.subarray(-4)).toString("latin1");
  return tail.endsWith("\n\n") || tail.endsWith("\r\n\r\n") || tail.endsWith("\r\r");
}

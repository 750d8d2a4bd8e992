import type { Encoding } from "./encoding.ts";
import { EOF, HANG, RST, type Step } from "./steps.ts";
import type { HeaderPair } from "./wire-reader.ts";

/** How a body is delimited. `verbatim`: the steps are the whole message, head and all. */
export type Framing = "length" | "chunked" | "close" | "verbatim";

/** One scripted answer. Headers go out as they stand, in order; the writer adds only the framing header. */
export interface Answer {
  readonly status: number;
  readonly reason?: string;
  readonly headers: readonly HeaderPair[];
  readonly framing: Framing;
  readonly steps: readonly Step[];
  readonly trailers?: readonly HeaderPair[];
  /** Body is sent in this coding; in a stream the encoder is flushed at each write. */
  readonly encoding?: Encoding;
  /** Wait before the first byte of the head. */
  readonly delayMs?: number;
}

/** Headers as an object (a list value gives several lines) or as pairs where order or case matters. */
export type HeaderLines = readonly HeaderPair[] | Readonly<Record<string, string | readonly string[]>>;

export interface RawOptions {
  readonly framing?: Framing;
  readonly trailers?: HeaderLines;
  readonly reason?: string;
}

/** Any answer: status, headers and body steps as given. Chunked unless a Content-Length is among the headers. */
export function raw(
  status: number,
  headers: HeaderLines,
  steps: readonly Step[],
  options: RawOptions = {},
): Answer {
  const pairs = toPairs(headers);
  const hasLength = pairs.some(([name]) => name.toLowerCase() === "content-length");
  return {
    status,
    headers: pairs,
    steps,
    framing: options.framing ?? (hasLength ? "length" : "chunked"),
    ...(options.trailers && { trailers: toPairs(options.trailers) }),
    ...(options.reason !== undefined && { reason: options.reason }),
  };
}

/** Bytes straight to the socket, without a head of ours. */
export function verbatim(steps: readonly Step[]): Answer {
  return { status: 0, headers: [], framing: "verbatim", steps };
}

/** `body` as JSON with a Content-Length. */
export function json(status: number, body: unknown, headers: HeaderLines = {}): Answer {
  return text(status, JSON.stringify(body), "application/json", headers);
}

/** A body as it stands (empty, HTML, broken JSON) with a Content-Length. */
export function text(
  status: number,
  body: string | Uint8Array,
  contentType = "application/json",
  headers: HeaderLines = {},
): Answer {
  const pairs: HeaderPair[] = [["Content-Type", contentType], ...toPairs(headers)];
  return { status, headers: pairs, framing: "length", steps: [body] };
}

/** A chunked event stream, 200 unless said otherwise. */
export function sse(
  steps: readonly Step[],
  options: { readonly status?: number; readonly headers?: HeaderLines } = {},
): Answer {
  const headers: HeaderPair[] = [["Content-Type", "text/event-stream"], ...toPairs(options.headers ?? {})];
  return { status: options.status ?? 200, headers, framing: "chunked", steps };
}

/** Connection reset instead of an answer. */
export const RESET: Answer = verbatim([RST]);
/** Never answers. */
export const SILENT: Answer = verbatim([HANG]);
/** 200 event-stream headers, then nothing. */
export const HEADERS_THEN_HANG: Answer = sse([HANG]);
/** 200 event-stream headers, then a clean end. */
export const EMPTY_STREAM: Answer = sse([EOF]);

/** The same answer with its head `ms` later. */
export function delayed(ms: number, answer: Answer): Answer {
  return { ...answer, delayMs: (answer.delayMs ?? 0) + ms };
}

/** The same answer in a content coding, with the right `Content-Encoding`; streams flush it at each write. */
export function encoded(encoding: Encoding, answer: Answer): Answer {
  return { ...answer, encoding, headers: [...answer.headers, ["Content-Encoding", encoding]] };
}

/** The same answer with more header lines at the end. */
export function withHeaders(answer: Answer, headers: HeaderLines): Answer {
  return { ...answer, headers: [...answer.headers, ...toPairs(headers)] };
}

export function toPairs(headers: HeaderLines): HeaderPair[] {
  if (isPairs(headers)) return [...headers];
  return Object.entries(headers).flatMap(([name, value]) =>
    (typeof value === "string" ? [value] : value).map((one): HeaderPair => [name, one]),
  );
}

function isPairs(headers: HeaderLines): headers is readonly HeaderPair[] {
  return Array.isArray(headers);
}

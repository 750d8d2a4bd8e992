import { type Fields, lineEnd, parseFields } from "./fields.ts";

export interface RequestHead {
  method: string;
  path: string;
  fields: Fields;
}

export interface ResponseHead {
  status: number;
  /** Of `HTTP/1.x`. */
  minor: 0 | 1;
  fields: Fields;
}

/** Request heads above this are not ours to read. */
export const maxHeadBytes = 16_384;

const requestLine = /^([A-Z]+) (\/[\x21-\x7e]*) HTTP\/1\.1$/;
const badInReason = /[^\t\x20-\x7e\x80-\xff]/;

/** Reads a request's head, without its closing empty line. Undefined: malformed, or more than this reader knows. */
export function parseRequestHead(text: string): RequestHead | undefined {
  const eol = lineEnd(text, 0);
  const line = requestLine.exec(text.slice(0, eol));
  const fields = parseFields(text, eol + 2);
  if (line === null || fields === undefined) return undefined;
  return { method: line[1] as string, path: line[2] as string, fields };
}

/** Reads a response's head, without its closing empty line. Undefined: malformed. */
export function parseResponseHead(text: string): ResponseHead | undefined {
  const eol = lineEnd(text, 0);
  const status = statusOf(text, eol);
  const fields = status === undefined ? undefined : parseFields(text, eol + 2);
  if (status === undefined || fields === undefined) return undefined;
  return { status, minor: text.charCodeAt(7) === 49 ? 1 : 0, fields };
}

/** Of `HTTP/1.1 200`, with or without a reason behind it. */
function statusOf(text: string, end: number): number | undefined {
  if (!text.startsWith("HTTP/1.1 ") && !text.startsWith("HTTP/1.0 ")) return undefined;
  let status = 0;
  for (let at = 9; at < 12; at += 1) {
    const digit = text.charCodeAt(at) - 48;
    if (!(digit >= 0 && digit <= 9)) return undefined;
    status = status * 10 + digit;
  }
  if (end < 12 || (end > 12 && text.charCodeAt(12) !== 32) || badInReason.test(text.slice(12, end)))
    return undefined;
  return status < 100 ? undefined : status;
}

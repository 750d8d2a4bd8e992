import { fieldName, isFieldValue } from "./fields.ts";

const methodForm = /^[A-Z][A-Z-]{0,31}$/;
// A space or a line's end in the target would end it there for the server.
const targetForm = /^\/[\x21-\x7e]*$/;

/**
 * A request's head up to where `content-length` goes: request line, `host`, `connection`, and the fields given flat
 * as `[name, value, …]`. Undefined for what cannot be put on the wire as one request and no other: names and values
 * that hold a line's end, a control or more than one byte a character, a target that is no path, `CONNECT`.
 */
export function requestHead(
  method: string,
  target: string,
  host: string,
  fields: readonly string[],
): string | undefined {
  if (!methodForm.test(method) || method === "CONNECT" || !targetForm.test(target)) return undefined;
  let head = `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    const value = fields[i + 1] as string;
    if (fieldName(name) === undefined || !isFieldValue(value)) return undefined;
    head += `${name}: ${value}\r\n`;
  }
  return head;
}

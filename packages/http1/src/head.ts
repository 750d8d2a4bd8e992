/** The header fields of one message: names in lower case, in order, repeated ones kept. */
export class Fields {
  readonly names: string[] = [];
  readonly values: string[] = [];

  /** The first field of that name. */
  get(name: string): string | undefined {
    const at = this.names.indexOf(name);
    return at < 0 ? undefined : this.values[at];
  }

  count(name: string): number {
    let n = 0;
    for (const other of this.names) if (other === name) n += 1;
    return n;
  }
}

export interface RequestHead {
  method: string;
  path: string;
  fields: Fields;
}

export interface ResponseHead {
  status: number;
  fields: Fields;
}

/** Heads above this are not ours to read. */
export const maxHeadBytes = 16_384;

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// A lone CR, LF or NUL in a value is how one message is read as two.
const unsafeValue = /[\0\r\n]/;
const requestLine = /^([A-Z]+) (\/[\x21-\x7e]*) HTTP\/1\.1$/;
const statusLine = /^HTTP\/1\.1 (\d{3})(?: [^\0\r\n]*)?$/;

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
  const line = statusLine.exec(text.slice(0, eol));
  const fields = parseFields(text, eol + 2);
  if (line === null || fields === undefined) return undefined;
  return { status: Number(line[1]), fields };
}

/** `content-length` when there is exactly one well-formed one; undefined without, "bad" otherwise. */
export function contentLength(fields: Fields): number | undefined | "bad" {
  const value = fields.get("content-length");
  if (value === undefined) return undefined;
  if (fields.count("content-length") !== 1 || !/^\d{1,15}$/.test(value)) return "bad";
  return Number(value);
}

function parseFields(text: string, start: number): Fields | undefined {
  const fields = new Fields();
  for (let at = start; at < text.length; ) {
    const eol = lineEnd(text, at);
    const colon = text.indexOf(":", at);
    if (colon <= at || colon >= eol) return undefined;
    const name = text.slice(at, colon);
    const value = text.slice(colon + 1, eol).trim();
    if (!token.test(name) || unsafeValue.test(value)) return undefined;
    fields.names.push(name.toLowerCase());
    fields.values.push(value);
    at = eol + 2;
  }
  return fields;
}

function lineEnd(text: string, from: number): number {
  const at = text.indexOf("\r\n", from);
  return at < 0 ? text.length : at;
}

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

  /** All fields of that name as one list, the way repeated fields are read. Undefined without any. */
  list(name: string): string | undefined {
    let all: string | undefined;
    for (let at = this.names.indexOf(name); at >= 0; at = this.names.indexOf(name, at + 1)) {
      all = all === undefined ? (this.values[at] as string) : `${all}, ${this.values[at] as string}`;
    }
    return all;
  }
}

/** A message with more fields is refused. */
export const maxFields = 256;

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// A lone CR, LF or NUL in a value is how one message is read as two; the other controls are nobody's to send.
const badInValue = /[^\t\x20-\x7e\x80-\xff]/;

/** A name as it was written, and in lower case. */
interface KnownName {
  readonly raw: string;
  readonly lower: string;
}

/** Names seen, each in the one place that its length and ends choose; few are, and a look there costs no new string. */
const known: (KnownName | undefined)[] = Array.from({ length: 256 });

/** A field name in lower case; undefined when it is none. */
export function fieldName(raw: string): string | undefined {
  return nameAt(raw, 0, raw.length);
}

function nameAt(text: string, start: number, end: number): string | undefined {
  const place = (text.charCodeAt(start) * 7 + text.charCodeAt(end - 1) * 31 + end - start) & 255;
  const found = known[place];
  if (found !== undefined && found.raw.length === end - start && text.startsWith(found.raw, start))
    return found.lower;
  const raw = text.slice(start, end);
  if (!token.test(raw)) return undefined;
  // A part of a head would keep the whole head in memory, secrets and all: what is remembered is a copy.
  const copy = Buffer.from(raw, "latin1").toString("latin1");
  known[place] = { raw: copy, lower: copy.toLowerCase() };
  return known[place].lower;
}

/** Whether a value can stand in a field: text of which every character is one byte and none is a control. */
export function isFieldValue(value: string): boolean {
  return !badInValue.test(value);
}

/** Reads field lines from `start` to the end of `text`. Undefined: malformed, folded lines too, or too many. */
export function parseFields(text: string, start: number): Fields | undefined {
  const fields = new Fields();
  for (let at = start; at < text.length; ) {
    const eol = lineEnd(text, at);
    const colon = text.indexOf(":", at);
    if (colon <= at || colon >= eol || fields.names.length === maxFields) return undefined;
    const name = nameAt(text, at, colon);
    const value = trimmed(text, colon + 1, eol);
    if (name === undefined || badInValue.test(value)) return undefined;
    fields.names.push(name);
    fields.values.push(value);
    at = eol + 2;
  }
  return fields;
}

export function lineEnd(text: string, from: number): number {
  const at = text.indexOf("\r\n", from);
  return at < 0 ? text.length : at;
}

/** Without the white space that HTTP knows; `trim` takes more, and what it takes would not be checked. */
function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

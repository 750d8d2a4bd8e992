/** A piece of an expression: a mark stands for itself, `text` of a string is without quotes and escapes. */
export interface Token {
  readonly kind: "name" | "string" | "end" | "other" | "." | "(" | ")" | "[" | "]";
  readonly text: string;
  /** Where it begins, in UTF-16 units from 0. */
  readonly at: number;
}

/** The tokens of an expression, one after the other; after the last one only `end`. */
export interface Tokens {
  peek(): Token;
  next(): Token;
}

const MARKS: ReadonlySet<string> = new Set([".", "(", ")", "[", "]"]);
const NAME = /[A-Za-z_$][\w$]*/y;
const SPACE = /[ \t\r\n]*/y;
const STRING = /"(?:[^"\\\n]|\\["'\\/])*"|'(?:[^'\\\n]|\\["'\\/])*'/y;

/** Reads tokens from the start of `source`. */
export function createTokens(source: string): Tokens {
  let place = 0;
  let ahead: Token | undefined;
  const read = (): Token => {
    place += matchAt(SPACE, source, place).length;
    const token = tokenAt(source, place);
    place += token.raw.length;
    return { kind: token.kind, text: token.text, at: place - token.raw.length };
  };
  return {
    peek: () => (ahead ??= read()),
    next() {
      const token = ahead ?? read();
      ahead = undefined;
      return token;
    },
  };
}

function tokenAt(source: string, place: number): Omit<Token, "at"> & { readonly raw: string } {
  if (place >= source.length) return { kind: "end", text: "", raw: "" };
  const name = matchAt(NAME, source, place);
  if (name !== "") return { kind: "name", text: name, raw: name };
  const quoted = matchAt(STRING, source, place);
  if (quoted !== "") return { kind: "string", text: unquote(quoted), raw: quoted };
  const char = String.fromCodePoint(source.codePointAt(place) ?? 0);
  return { kind: MARKS.has(char) ? (char as Token["kind"]) : "other", text: char, raw: char };
}

function unquote(quoted: string): string {
  return quoted.slice(1, -1).replace(/\\(.)/g, "$1");
}

function matchAt(pattern: RegExp, source: string, place: number): string {
  pattern.lastIndex = place;
  return pattern.exec(source)?.[0] ?? "";
}

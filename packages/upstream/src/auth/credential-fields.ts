import { TokenError } from "./token-source.ts";

/** A credential that is a JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

/** Throws a {@link TokenError} that does not quote it where it is none. */
export function readFields(text: string): Fields {
  try {
    const fields: unknown = JSON.parse(text);
    if (typeof fields === "object" && fields !== null) return fields as Fields;
  } catch {
    // What is wrong with it would quote it.
  }
  throw new TokenError("the credential is no JSON object");
}

/** The first of the names that has a text. Throws a {@link TokenError} where none has. */
export function textOf(fields: Fields, ...names: readonly [string, ...string[]]): string {
  const value = textIn(fields, ...names);
  if (value === undefined) throw new TokenError(`the credential has no ${names[0]}`);
  return value;
}

/** The first of the names that has a text. */
export function textIn(fields: Fields, ...names: readonly string[]): string | undefined {
  const value = names.map((name) => fields[name]).find((one) => typeof one === "string" && one !== "");
  return typeof value === "string" ? value : undefined;
}

import type { Fields } from "./fields.ts";

/** What a message says of its body's end and of its connection. */
export interface Framing {
  /** `content-length` when there is exactly one well-formed one. */
  length: number | "bad" | undefined;
  /** `transfer-encoding` when it is `chunked` alone. */
  coding: "chunked" | "bad" | undefined;
  /** All `connection` fields as one list. */
  connection: string | undefined;
  keepAlive: string | undefined;
}

const lengthForm = /^\d{1,15}$/;

/** Reads the framing fields in one pass. */
export function framingOf({ names, values }: Fields): Framing {
  const framing: Framing = {
    length: undefined,
    coding: undefined,
    connection: undefined,
    keepAlive: undefined,
  };
  for (let i = 0; i < names.length; i += 1) {
    const name = names[i] as string;
    const value = values[i] as string;
    if (name === "content-length") {
      framing.length = framing.length === undefined && lengthForm.test(value) ? Number(value) : "bad";
    } else if (name === "transfer-encoding") {
      framing.coding = framing.coding === undefined && value.toLowerCase() === "chunked" ? "chunked" : "bad";
    } else if (name === "connection") {
      framing.connection = framing.connection === undefined ? value : `${framing.connection}, ${value}`;
    } else if (name === "keep-alive") framing.keepAlive ??= value;
  }
  return framing;
}

/** `content-length` when there is exactly one well-formed one; undefined without, "bad" otherwise. */
export function contentLength(fields: Fields): number | "bad" | undefined {
  const value = fields.get("content-length");
  if (value === undefined) return undefined;
  return fields.count("content-length") === 1 && lengthForm.test(value) ? Number(value) : "bad";
}

/** Whether a comma-separated list of tokens has this one, in any case. */
export function hasToken(list: string | undefined, token: string): boolean {
  if (list === undefined) return false;
  const lower = list.toLowerCase();
  return lower === token || (lower.includes(token) && lower.split(",").some((one) => one.trim() === token));
}

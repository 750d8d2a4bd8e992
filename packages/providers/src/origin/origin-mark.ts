import { hashKey } from "@switchyard/core";
import { decodeUtf8 } from "../json/text.ts";

const PREFIX = "sy1.";
/** `sy1.<account>.` and its longest form. */
const MARK = /^sy1\.([0-9a-z]{1,7})\./u;
const LONGEST_MARK = 12;

/** What stands for an account in marks: the same on every replica. */
export function originOf(provider: string): string {
  return hashKey(provider).toString(36);
}

/** The mark of an account, for what only it can read or check. */
export function markOf(origin: string): string {
  return `${PREFIX}${origin}.`;
}

/** The origin that a text is marked with. Base64 holds no dot, so nothing looks marked by chance. */
export function originIn(text: string): string | undefined {
  return MARK.exec(text)?.[1];
}

/** The same of the JSON string whose opening quote is at `at`. */
export function originAt(bytes: Uint8Array, at: number): string | undefined {
  const start = at + 1;
  return originIn(decodeUtf8(bytes, start, Math.min(bytes.length, start + LONGEST_MARK + 1)));
}

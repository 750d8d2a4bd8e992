import { decodeUtf8 } from "../json/text.ts";

/** Header types by number: how many bytes a value has; 2 more say it where this is `VARIES`. */
const VARIES = -1;
const VALUE_BYTES: readonly number[] = [0, 0, 1, 2, 4, 8, VARIES, VARIES, 8, 16];
const STRING = 7;

/** The text headers of a frame by name, those of other types left out; nothing when they are damaged. */
export function readFrameHeaders(
  bytes: Uint8Array,
  start: number,
  end: number,
): ReadonlyMap<string, string> | undefined {
  const headers = new Map<string, string>();
  let at = start;
  while (at < end) {
    const nameEnd = at + 1 + (bytes[at] as number);
    if (nameEnd >= end) return undefined;
    const name = decodeUtf8(bytes, at + 1, nameEnd);
    const type = bytes[nameEnd] as number;
    const size = VALUE_BYTES[type];
    at = nameEnd + 1;
    if (size === undefined) return undefined;
    if (size === VARIES) {
      if (at + 2 > end) return undefined;
      const length = ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
      at += 2;
      if (at + length > end) return undefined;
      if (type === STRING) headers.set(name, decodeUtf8(bytes, at, at + length));
      at += length;
    } else at += size;
  }
  return at === end ? headers : undefined;
}

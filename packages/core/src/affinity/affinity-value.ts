/** Most UTF-8 bytes of an affinity value (F6). */
export const MAX_VALUE_BYTES = 256;

/** A value as a key, or why it is none: said without showing the value (F7). */
export type AffinityValue =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly why: string };

/** F6: a string or a safe integer; strings as well-formed NFC, short and without control characters. */
export function affinityValue(value: unknown): AffinityValue {
  if (typeof value === "number") {
    const usable = Number.isSafeInteger(value) && !Object.is(value, -0);
    return usable ? { ok: true, text: String(value) } : rejected("is a number, but no safe integer");
  }
  if (value === undefined || value === null) return rejected("is not there");
  if (typeof value !== "string") return rejected("is neither a string nor an integer");
  if (value === "") return rejected("is empty");
  // Normalising costs more than reading: what cannot fit is turned away before. NFC makes one character of a few.
  if (value.length > 3 * MAX_VALUE_BYTES) return rejected(TOO_LONG);
  const text = value.toWellFormed().normalize("NFC");
  if (utf8Bytes(text) > MAX_VALUE_BYTES) return rejected(TOO_LONG);
  return hasForbidden(text) ? rejected("holds a control character or a line separator") : { ok: true, text };
}

const TOO_LONG = `is longer than ${MAX_VALUE_BYTES} bytes`;

function rejected(why: string): AffinityValue {
  return { ok: false, why };
}

/** Bytes of a text in UTF-8; half a surrogate pair counts as the character that replaces it. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (unit >= 0xd800 && unit <= 0xdbff && isLow(text.charCodeAt(index + 1))) {
      bytes += 4;
      index += 1;
    } else bytes += 3;
  }
  return bytes;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

function hasForbidden(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x20 || (unit >= 0x7f && unit <= 0x9f) || unit === 0x2028 || unit === 0x2029) return true;
  }
  return false;
}

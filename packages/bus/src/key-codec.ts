const PLAIN = /^[A-Za-z0-9_-]+$/;
/** A key is part of a subject, and a NATS server closes connections that send a control line over 4096 bytes. */
const MAX_ENCODED = 1024;

/** Throws `TypeError` unless `name` may name a bucket: letters, digits, `_` and `-`. */
export function assertBucketName(name: string): void {
  if (!PLAIN.test(name)) throw new TypeError(`malformed bucket name: ${name}`);
}

/**
 * Any string as one legal NATS token, reversibly: letters, digits, `_` and `-` stay, another UTF-16 code unit becomes
 * `=XX`, or `=uXXXX` above 255; the empty key is a lone `=`. Throws `RangeError` when the result is over 1024 long.
 */
export function encodeKey(key: string): string {
  if (key.length <= MAX_ENCODED && PLAIN.test(key)) return key;
  let encoded = key === "" ? "=" : "";
  for (let i = 0; i < key.length && encoded.length <= MAX_ENCODED; i += 1) {
    const unit = key.charAt(i);
    encoded += PLAIN.test(unit) ? unit : escapeUnit(key.charCodeAt(i));
  }
  if (encoded.length > MAX_ENCODED) throw new RangeError(`key too long: ${key.length} characters`);
  return encoded;
}

/** The inverse of `encodeKey`; what it never produced comes back as it is. */
export function decodeKey(encoded: string): string {
  if (encoded === "=") return "";
  return encoded.replace(/=(?:u([0-9A-F]{4})|([0-9A-F]{2}))/g, (_, wide?: string, narrow?: string) =>
    String.fromCharCode(Number.parseInt(wide ?? narrow ?? "", 16)),
  );
}

function escapeUnit(code: number): string {
  const hex = code.toString(16).toUpperCase();
  return code > 0xff ? `=u${hex.padStart(4, "0")}` : `=${hex.padStart(2, "0")}`;
}

interface Utf8Decoder {
  decode(bytes: Uint8Array): string;
}
interface Utf8Encoder {
  encode(text: string): Uint8Array<ArrayBuffer>;
}
// Every JavaScript host has these two, but the language's own library does not declare them.
const host = globalThis as unknown as {
  TextDecoder: new (label: string, options: { ignoreBOM: boolean }) => Utf8Decoder;
  TextEncoder: new () => Utf8Encoder;
};
const decoder = new host.TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new host.TextEncoder();

/** Longest text that is cheaper to put together byte by byte than by a call of the decoder. */
const SHORT = 24;

/** The bytes from `start` to `end` as text; ill-formed UTF-8 becomes U+FFFD. */
export function decodeUtf8(bytes: Uint8Array, start: number, end: number): string {
  if (end - start > SHORT) return decoder.decode(bytes.subarray(start, end));
  let text = "";
  for (let position = start; position < end; position++) {
    const byte = bytes[position] as number;
    if (byte >= 0x80) return decoder.decode(bytes.subarray(start, end));
    text += String.fromCharCode(byte);
  }
  return text;
}

/** The UTF-8 bytes of `text`. */
export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

/** A copy of a range, which stays as it is when the owner of `bytes` uses them again. */
export function copyRange(bytes: Uint8Array, start: number, end: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes.subarray(start, end));
}

/** Whether the range holds exactly these bytes. */
export function rangeEquals(bytes: Uint8Array, start: number, end: number, wanted: Uint8Array): boolean {
  if (end - start !== wanted.length) return false;
  for (let offset = 0; offset < wanted.length; offset++) {
    if (bytes[start + offset] !== wanted[offset]) return false;
  }
  return true;
}

/** The end of a range without the white space and controls at its end. */
export function trimEnd(bytes: Uint8Array, start: number, end: number): number {
  let position = end;
  while (position > start && (bytes[position - 1] as number) <= 0x20) position--;
  return position;
}

// In the language since ES2026, before the library files that the compiler is set to.
interface Encodes {
  toBase64(): string;
}
interface Decodes {
  fromBase64(text: string): Uint8Array<ArrayBuffer>;
}

/** Standard base64 with padding. */
export function encodeBase64(bytes: Uint8Array): string {
  return (bytes as unknown as Encodes).toBase64();
}

/** The bytes of a base64 text, or nothing when it is none. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return (Uint8Array as unknown as Decodes).fromBase64(text);
  } catch {
    return undefined;
  }
}

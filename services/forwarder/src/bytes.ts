const decoder = new TextDecoder();

export function decodeText(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** One run of bytes; no copy where there is only one piece. */
export function concat(pieces: readonly Uint8Array[], total?: number): Uint8Array {
  return pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces, total);
}

/** Value of the first header of that (lower-case) name in a flat list. */
export function headerOf(headers: readonly string[], name: string): string | undefined {
  for (let at = 0; at < headers.length; at += 2) if (headers[at] === name) return headers[at + 1];
  return undefined;
}

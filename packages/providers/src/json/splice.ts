/** Bytes from `start` to `end` give way to `replacement`; an insertion has `start === end`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly replacement: Uint8Array;
}

/** Bytes, whole or in pieces that follow each other. */
export type Pieces = Uint8Array | readonly Uint8Array[];

/** From here on, bytes, copying costs more than another piece does. */
const IN_PIECES = 16_384;

/**
 * The bytes with all edits made, which must be in order and must not overlap: of many bytes as pieces, which share what stays
 * as it is with `bytes`, so that a large prompt is not copied.
 */
export function spliceInPieces(bytes: Uint8Array, edits: readonly Edit[]): Pieces {
  if (bytes.length < IN_PIECES) return splice(bytes, edits);
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const { start, end, replacement } of edits) {
    if (start > from) pieces.push(bytes.subarray(from, start));
    if (replacement.length > 0) pieces.push(replacement);
    from = end;
  }
  if (from < bytes.length) pieces.push(bytes.subarray(from));
  return pieces;
}

/** The same in one piece. */
export function joined(pieces: Pieces): Uint8Array {
  if (pieces instanceof Uint8Array) return pieces;
  let length = 0;
  for (const piece of pieces) length += piece.length;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** A new array with all edits made. They must be in order and must not overlap. */
export function splice(bytes: Uint8Array, edits: readonly Edit[]): Uint8Array<ArrayBuffer> {
  let length = bytes.length;
  for (const edit of edits) length += edit.replacement.length - (edit.end - edit.start);
  const result = new Uint8Array(length);
  let from = 0;
  let to = 0;
  for (const edit of edits) {
    result.set(bytes.subarray(from, edit.start), to);
    to += edit.start - from;
    result.set(edit.replacement, to);
    to += edit.replacement.length;
    from = edit.end;
  }
  result.set(bytes.subarray(from), to);
  return result;
}

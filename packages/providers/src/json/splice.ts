/** Bytes from `start` to `end` give way to `replacement`; an insertion has `start === end`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly replacement: Uint8Array;
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

/**
 * A copy that its giver cannot change any more. Also of a `Buffer`, whose `slice` would be a view, and which may keep a
 * socket's whole chunk alive.
 */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

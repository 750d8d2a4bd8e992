/**
 * Hash of an affinity key or a deployment's id: an unsigned 32-bit integer (Murmur3 over pairs of UTF-16 units).
 * The same on every replica, in every version: changing it moves every session (F1). It need not resist people who
 * choose keys, only spread the keys that there are; equal hashes merely share a deployment.
 */
export function hashKey(text: string): number {
  const { length } = text;
  let h = 0x9747b28c;
  let at = 0;
  for (; at + 1 < length; at += 2) h = absorb(h, text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16));
  if (at < length) h = absorb(h, text.charCodeAt(at));
  return finish(h ^ length);
}

/** A number in [0, 2^32) for one key at one deployment; `seed` is the hash of the deployment's id. */
export function mixHashes(key: number, seed: number): number {
  let x = key ^ seed;
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
  return (x ^ (x >>> 15)) >>> 0;
}

function absorb(h: number, word: number): number {
  let k = Math.imul(word, 0xcc9e2d51);
  k = Math.imul((k << 15) | (k >>> 17), 0x1b873593);
  const mixed = h ^ k;
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}

function finish(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

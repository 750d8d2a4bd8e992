/**
 * A number in [0, 1) for one named draw of one decision.
 *
 * Draws are named so that a rule which starts to draw does not shift the draws of the others, and derived from
 * one recorded seed so that a decision can be replayed bit for bit (invariant 1).
 *
 * @param seed unsigned 32-bit integer
 * @param stream one of {@link STREAMS}
 * @param index the how-manieth draw of this stream, from 0
 */
export function draw(seed: number, stream: Stream, index = 0): number {
  let h = (seed ^ Math.imul(STREAMS[stream], 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b)) >>> 0;
  h = Math.imul(h ^ (h >>> 16), 0x21f0aaad) >>> 0;
  h = Math.imul(h ^ (h >>> 15), 0x735a2d97) >>> 0;
  return ((h ^ (h >>> 15)) >>> 0) / 0x1_0000_0000;
}

/** Named random streams and their numbers; numbers are never reused. */
export const STREAMS = { pick: 1, jitter: 2, tie: 3, probe: 4, ramp: 5 } as const;

/** Name of a random stream. */
export type Stream = keyof typeof STREAMS;

import type { Clock, Random } from "@switchyard/core";

/** A clock that stands still until told. Milliseconds. */
export interface FakeClock extends Clock {
  /** Moves time on and returns the new time. */
  advance(ms: number): number;
}

export function fakeClock(start = 0): FakeClock {
  let time = start;
  return {
    now: () => time,
    advance: (ms) => {
      time += ms;
      return time;
    },
  };
}

/** Numbers in [0, 1) that depend on the seed alone (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The core's source of seeds, repeatable. */
export function seededSeeds(seed: number): Random {
  const random = seededRandom(seed);
  return { seed: () => Math.floor(random() * 2 ** 32) };
}

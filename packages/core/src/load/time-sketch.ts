/** Buckets to each doubling of the time: a reading is at most 9 % above the truth. */
const PER_DOUBLING = 8;
/** 2 to the 20 is 17 minutes; what takes longer is as slow. */
const BUCKETS = 20 * PER_DOUBLING + 1;
/** So many times are remembered in full; beyond, each counts half as much as those after it. */
const MOST = 1_000;
/** Fewer say nothing about the slowest of them. */
export const SKETCH_SAMPLES = 20;
const SHARE = 0.95;

/** Which bucket of a {@link TimeSketch} a time falls into, ms. */
export function timeBucket(ms: number): number {
  return Math.min(BUCKETS - 1, Math.max(0, Math.ceil(Math.log2(Math.max(1, ms)) * PER_DOUBLING)));
}

/**
 * What times were lately, in buckets that grow with the time, of fixed size: reports carry counts by bucket, so routers
 * add them up without a sample being kept. Old ones fade as new ones come.
 */
export class TimeSketch {
  readonly #counts = new Float64Array(BUCKETS);
  #total = 0;

  /** Counts times of a bucket; what is no bucket or no count changes nothing, for others may have written it. */
  add(bucket: number, count: number): void {
    if (!Number.isInteger(bucket) || bucket < 0 || bucket >= BUCKETS || !(count > 0)) return;
    if (this.#total >= MOST) this.#halve();
    const taken = Math.min(count, MOST);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + taken;
    this.#total += taken;
  }

  /** The time that 19 of 20 do not exceed, ms; undefined before {@link SKETCH_SAMPLES} of them. */
  get p95Ms(): number | undefined {
    if (this.#total < SKETCH_SAMPLES) return undefined;
    const wanted = this.#total * SHARE;
    let sum = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      sum += this.#counts[bucket] ?? 0;
      if (sum >= wanted) return 2 ** (bucket / PER_DOUBLING);
    }
    return 2 ** ((BUCKETS - 1) / PER_DOUBLING);
  }

  #halve(): void {
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      this.#counts[bucket] = (this.#counts[bucket] ?? 0) / 2;
    }
    this.#total /= 2;
  }
}

/** Milliseconds since the Unix epoch. The core never reads a clock: callers hand `now` in. */
export type EpochMs = number;

/** A clock, for those who assemble the core. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): EpochMs;
}

/** A source of seeds, for those who assemble the core: an unsigned 32-bit integer. */
export interface Random {
  seed(): number;
}

import type { Cores } from "../measure/cores.ts";

/** What every variant is started with. */
export interface Surroundings {
  readonly cores: Cores;
  /** Where the upstream stub listens on loopback. */
  readonly upstreamPort: number;
  /** For configs, removed after the run. */
  readonly folder: string;
}

/** One way between the load generator and the upstream, running. */
export interface Variant {
  /** Where it takes requests on loopback. */
  readonly port: number;
  /** Header lines that it needs. */
  readonly headers: readonly string[];
  /** Its processes; descendants count too. */
  readonly pids: readonly number[];
  stop(): Promise<void>;
}

/** A variant that this machine cannot run, and why in one line. */
export class Skipped extends Error {}

export type StartVariant = (around: Surroundings) => Promise<Variant>;

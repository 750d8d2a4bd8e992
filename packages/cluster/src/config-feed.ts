import { create } from "@bufbuild/protobuf";
import type { Config } from "@switchyard/proto/config/v1/config";
import { ConfigSchema } from "@switchyard/proto/config/v1/config";

/** A config in force. */
export interface AppliedConfig {
  readonly config: Config;
  /** Grows by one with each change. A file alone counts its own changes from 1. */
  readonly revision: number;
}

/** Where the config comes from. Applied whole or not at all (invariant 10); the last good one is kept. */
export interface ConfigFeed {
  current(): AppliedConfig | undefined;
  /** Called with each new config, and at once with the present one where there is one. Returns how to end it. */
  subscribe(listener: (applied: AppliedConfig) => void): () => void;
  /** Resolves once there is a config, or with undefined after `withinMs` or when the feed is closed. */
  ready(withinMs: number): Promise<AppliedConfig | undefined>;
  /** Nobody is told anything from then on. */
  close(): void;
}

/** A feed whose config can be replaced by an admin. */
export interface WritableConfigFeed extends ConfigFeed {
  /** Whether the store holds a config that is refused here, so that applying the one in force again mends it. */
  readonly refusesStored: boolean;
  /**
   * Replaces the config. Rejects with `ConfigConflictError` when another writer won, and with the bus's own error
   * when the store is away.
   */
  apply(config: Config, by: string, expectedRevision: number | undefined): Promise<AppliedConfig>;
}

export class ConfigConflictError extends Error {
  override readonly name = "ConfigConflictError";
}

/** The part that all feeds share: the present config and who wants to hear of it. */
export class FeedState implements ConfigFeed {
  readonly #listeners = new Set<(applied: AppliedConfig) => void>();
  readonly #closing = new Set<() => void>();
  #current: AppliedConfig | undefined;
  #closed = false;

  current(): AppliedConfig | undefined {
    return this.#current;
  }

  subscribe(listener: (applied: AppliedConfig) => void): () => void {
    if (!this.#closed) this.#listeners.add(listener);
    if (this.#current !== undefined) listener(this.#current);
    return () => this.#listeners.delete(listener);
  }

  ready(withinMs: number): Promise<AppliedConfig | undefined> {
    if (this.#current !== undefined || this.#closed) return Promise.resolve(this.#current);
    return new Promise((resolve) => {
      const done = (applied: AppliedConfig | undefined): void => {
        clearTimeout(timer);
        stop();
        this.#closing.delete(giveUp);
        resolve(applied);
      };
      const giveUp = (): void => done(undefined);
      this.#closing.add(giveUp);
      const timer = setTimeout(giveUp, withinMs);
      const stop = this.subscribe((applied) => done(applied));
    });
  }

  replace(applied: AppliedConfig): void {
    this.#current = applied;
    // Who joins meanwhile was told already; who leaves meanwhile is told no more.
    const present = [...this.#listeners];
    for (const listener of present) if (this.#listeners.has(listener)) listener(applied);
  }

  close(): void {
    this.#closed = true;
    this.#listeners.clear();
    for (const giveUp of this.#closing) giveUp();
  }
}

/** The part of a config that is the cluster's: `runtime` belongs to one process. */
export function withoutRuntime(config: Config): Config {
  if (config.runtime === undefined) return config;
  const { runtime: _, ...rest } = config;
  return create(ConfigSchema, rest);
}

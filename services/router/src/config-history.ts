import { compileSnapshot, formatFault } from "@switchyard/config";
import type { SecretSource } from "@switchyard/config";
import type { AppliedConfig } from "@switchyard/cluster";
import type { ConfigSnapshot } from "@switchyard/core";
import type { Logger } from "@switchyard/telemetry";

/** Requests that started on an older config finish on it (K5), as long as this many are kept. */
const KEPT = 8;

/** The config in force, and the last few before it for requests that are pinned to them. */
export class ConfigHistory {
  readonly #secrets: SecretSource;
  readonly #logger: Logger;
  readonly #kept = new Map<number, ConfigSnapshot>();
  #current: ConfigSnapshot | undefined;

  constructor(secrets: SecretSource, logger: Logger) {
    this.#secrets = secrets;
    this.#logger = logger;
  }

  get current(): ConfigSnapshot | undefined {
    return this.#current;
  }

  /** Makes a config the one in force and gives its compiled form. */
  use(applied: AppliedConfig): ConfigSnapshot {
    const snapshot = compileSnapshot(applied.config, {
      revision: applied.revision,
      secrets: this.#secrets,
      onWarning: (fault) => this.#logger.warn(formatFault(fault)),
    });
    this.#current = snapshot;
    this.#kept.delete(snapshot.revision);
    this.#kept.set(snapshot.revision, snapshot);
    for (const revision of this.#kept.keys()) {
      if (this.#kept.size <= KEPT) break;
      this.#kept.delete(revision);
    }
    return snapshot;
  }

  /** The config of a revision, where it is still held. */
  at(revision: number): ConfigSnapshot | undefined {
    return this.#kept.get(revision);
  }
}

import { create, toBinary } from "@bufbuild/protobuf";
import type { EventBus } from "@switchyard/bus";
import { SUBJECTS } from "@switchyard/cluster";
import { readProviders, resolveSecret } from "@switchyard/config";
import type { ProviderAccount, ResolvedSecret, SecretSource } from "@switchyard/config";
import type { Config } from "@switchyard/proto/config/v1/config";
import { ProviderReadinessSchema } from "@switchyard/proto/events/v1/events";
import { FAMILIES } from "@switchyard/providers";
import type { Family } from "@switchyard/providers";
import type { Logger } from "@switchyard/telemetry";

/** Secret files are read again, and readiness is repeated, this often: routers forget forwarders that are silent. */
const REPEAT_MS = 5_000;

/** An account that can be called. */
export interface Account {
  readonly facts: ProviderAccount;
  readonly family: Family;
  /** Undefined where none is needed. */
  readonly secret: string | undefined;
}

interface Held {
  readonly facts: ProviderAccount;
  readonly secret: ResolvedSecret;
}

/** The providers part of the config with its secrets, which live here and nowhere else (R10). */
export class Accounts {
  readonly #bus: EventBus;
  readonly #name: string;
  readonly #secrets: SecretSource;
  readonly #logger: Logger;
  readonly #timer: NodeJS.Timeout;
  readonly #told = new Set<string>();
  #held: ReadonlyMap<string, Held> = new Map();

  constructor(deps: {
    readonly bus: EventBus;
    readonly name: string;
    readonly secrets: SecretSource;
    readonly logger: Logger;
  }) {
    this.#bus = deps.bus;
    this.#name = deps.name;
    this.#secrets = deps.secrets;
    this.#logger = deps.logger;
    this.#timer = setInterval(() => {
      this.#resolve([...this.#held.values()].map(({ facts }) => facts));
    }, REPEAT_MS);
    this.#timer.unref();
  }

  use(config: Config): void {
    this.#resolve(readProviders(config));
  }

  /** The account of a provider, by canonical name; undefined when it is unknown or its secret is not there. */
  find(provider: string): Account | undefined {
    const held = this.#held.get(provider);
    const family = held === undefined ? undefined : FAMILIES.get(held.facts.family);
    if (held === undefined || family === undefined || held.secret.kind === "missing") return undefined;
    const secret = held.secret.kind === "secret" ? held.secret.secret : undefined;
    return { facts: held.facts, family, secret };
  }

  /** The account as a caller's own key would use it (E9): it needs no secret of ours. */
  findFor(provider: string, ownSecret: string): Account | undefined {
    const held = this.#held.get(provider);
    const family = held === undefined ? undefined : FAMILIES.get(held.facts.family);
    return held === undefined || family === undefined
      ? undefined
      : { facts: held.facts, family, secret: ownSecret };
  }

  /** Names of providers without a usable secret. */
  notReady(): string[] {
    return [...this.#held.values()]
      .filter(({ secret }) => secret.kind === "missing")
      .map(({ facts }) => facts.name);
  }

  /** Says goodbye to routers. */
  close(): void {
    clearInterval(this.#timer);
    this.#publish(true);
  }

  #resolve(accounts: readonly ProviderAccount[]): void {
    this.#held = new Map(
      accounts.map((facts) => [
        facts.name,
        { facts, secret: resolveSecret(facts.credential, this.#secrets) },
      ]),
    );
    for (const { facts, secret } of this.#held.values()) this.#tell(facts.name, secret);
    this.#publish(false);
  }

  /** R10: the log names provider and variable, once until it is there again. */
  #tell(provider: string, secret: ResolvedSecret): void {
    if (secret.kind !== "missing") {
      if (this.#told.delete(provider)) this.#logger.info("provider is ready", { provider });
      return;
    }
    if (this.#told.has(provider)) return;
    this.#told.add(provider);
    this.#logger.warn("provider is not ready: its credential is not there", {
      provider,
      missing: secret.reference,
    });
  }

  #publish(leaving: boolean): void {
    const readiness = create(ProviderReadinessSchema, {
      forwarder: this.#name,
      notReady: this.notReady(),
      leaving,
    });
    this.#bus.publish(SUBJECTS.readinessOf(this.#name), toBinary(ProviderReadinessSchema, readiness));
  }
}

import { create, toBinary } from "@bufbuild/protobuf";
import type { EventBus } from "@switchyard/bus";
import { SUBJECTS } from "@switchyard/cluster";
import { describeReference, readProviders, resolveSecret } from "@switchyard/config";
import type { ProviderAccount, ResolvedSecret, SecretSource } from "@switchyard/config";
import type { Config } from "@switchyard/proto/config/v1/config";
import { ProviderReadinessSchema } from "@switchyard/proto/events/v1/events";
import { FAMILIES } from "@switchyard/providers";
import type { Family } from "@switchyard/providers";
import type { Logger } from "@switchyard/telemetry";
import { isFieldValue, type TokenSource } from "@switchyard/upstream";
import { missingToken, openCloudTokens, tokensOf } from "./account-tokens.ts";
import type { AccountTokens, OpenTokens } from "./account-tokens.ts";

/** Secret files are read again, and readiness is repeated, this often: routers forget forwarders that are silent. */
const REPEAT_MS = 5_000;

/** An account that can be called. */
export interface Account {
  readonly facts: ProviderAccount;
  readonly family: Family;
  /** Undefined where none is needed, or where tokens are sent. */
  readonly secret: string | undefined;
  /** Where what is sent has to be got first. */
  readonly tokens?: TokenSource | undefined;
}

interface Held {
  readonly facts: ProviderAccount;
  readonly secret: ResolvedSecret;
  readonly tokens: AccountTokens | undefined;
}

/** The providers part of the config with its secrets, which live here and nowhere else (R10). */
export class Accounts {
  readonly #bus: EventBus;
  readonly #name: string;
  readonly #secrets: SecretSource;
  readonly #logger: Logger;
  readonly #openTokens: OpenTokens;
  readonly #timer: NodeJS.Timeout;
  readonly #told = new Set<string>();
  #held: ReadonlyMap<string, Held> = new Map();
  #closed = false;

  constructor(deps: {
    readonly bus: EventBus;
    readonly name: string;
    readonly secrets: SecretSource;
    readonly logger: Logger;
    readonly openTokens?: OpenTokens | undefined;
  }) {
    this.#bus = deps.bus;
    this.#name = deps.name;
    this.#secrets = deps.secrets;
    this.#logger = deps.logger;
    this.#openTokens = deps.openTokens ?? openCloudTokens;
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
    const { facts, tokens } = held;
    if (tokens !== undefined) return { facts, family, secret: undefined, tokens: tokens.source };
    const secret = held.secret.kind === "secret" ? held.secret.secret : undefined;
    return { facts, family, secret };
  }

  /** The account as a caller's own key would use it (E9): it needs no secret of ours. */
  findFor(provider: string, ownSecret: string): Account | undefined {
    const held = this.#held.get(provider);
    const family = held === undefined ? undefined : FAMILIES.get(held.facts.family);
    return held === undefined || family === undefined
      ? undefined
      : { facts: held.facts, family, secret: ownSecret };
  }

  /** Names of providers without a usable secret or token. */
  notReady(): string[] {
    return [...this.#held.values()]
      .filter(({ secret, tokens }) => secret.kind === "missing" || tokens?.source.isFailing === true)
      .map(({ facts }) => facts.name);
  }

  /** Says goodbye to routers. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#publish(true);
    for (const { tokens } of this.#held.values()) tokens?.source.close();
  }

  #resolve(accounts: readonly ProviderAccount[]): void {
    const before = this.#held;
    this.#held = new Map(
      accounts.map((facts) => {
        const found = resolveSecret(facts.credential, this.#secrets);
        const tokens = tokensOf(facts, found, before.get(facts.name)?.tokens, this.#openTokens);
        return [facts.name, { facts, secret: tokens === undefined ? sendable(facts, found) : found, tokens }];
      }),
    );
    const kept = new Set([...this.#held.values()].map(({ tokens }) => tokens));
    for (const { tokens } of before.values()) if (!kept.has(tokens)) tokens?.source.close();
    this.#report();
    for (const { tokens } of this.#held.values()) {
      // Nobody has to wait for the first; and routers send nothing to what is not ready, so nobody else finds out that it is again.
      if (tokens !== undefined && tokens.source.current() === undefined) {
        void tokens.source.next().then(() => this.#report());
      }
    }
  }

  #report(): void {
    if (this.#closed) return;
    for (const { facts, secret, tokens } of this.#held.values()) {
      this.#tell(facts.name, secret.kind === "missing" ? secret.reference : missingToken(facts, tokens));
    }
    this.#publish(false);
  }

  /** R10: the log names provider and variable, once until it is there again. */
  #tell(provider: string, missing: string | undefined): void {
    if (missing === undefined) {
      if (this.#told.delete(provider)) this.#logger.info("provider is ready", { provider });
      return;
    }
    if (this.#told.has(provider)) return;
    this.#told.add(provider);
    this.#logger.warn("provider is not ready: its credential is not there", { provider, missing });
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

/** A secret that no header can carry would fail every request, and look like its caller's fault; AWS's as JSON only signs. */
function sendable({ credential, family }: ProviderAccount, found: ResolvedSecret): ResolvedSecret {
  if (found.kind !== "secret" || isFieldValue(found.secret)) return found;
  if (FAMILIES.get(family)?.tokens === "aws" && found.secret.startsWith("{")) return found;
  return { kind: "missing", reference: `${describeReference(credential)}: what it holds fits no header` };
}

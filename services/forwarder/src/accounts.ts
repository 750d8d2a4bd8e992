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
import { createGoogleTokens } from "@switchyard/upstream";
import type { TokenSource } from "@switchyard/upstream";

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
  readonly tokens: TokenSource | undefined;
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
    const { facts, tokens } = held;
    if (tokens !== undefined) return { facts, family, secret: undefined, tokens };
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
      .filter(({ secret, tokens }) => secret.kind === "missing" || tokens?.isFailing === true)
      .map(({ facts }) => facts.name);
  }

  /** Says goodbye to routers. */
  close(): void {
    clearInterval(this.#timer);
    this.#publish(true);
  }

  #resolve(accounts: readonly ProviderAccount[]): void {
    const before = this.#held;
    this.#held = new Map(
      accounts.map((facts) => {
        const secret = resolveSecret(facts.credential, this.#secrets);
        const held = before.get(facts.name);
        return [facts.name, { facts, secret, tokens: tokensOf(facts, secret, held) }];
      }),
    );
    for (const { facts, secret, tokens } of this.#held.values()) {
      const noToken = tokens?.isFailing === true ? "a token for its credential" : undefined;
      this.#tell(facts.name, secret.kind === "missing" ? secret.reference : noToken);
      // Routers send nothing to what is not ready, so nobody else would find out that it is again.
      if (noToken !== undefined) void tokens?.next();
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

/** The tokens of an account whose family wants them: those at hand while its credential stays. A credential that is a token is sent itself. */
function tokensOf(
  facts: ProviderAccount,
  secret: ResolvedSecret,
  before: Held | undefined,
): TokenSource | undefined {
  if (FAMILIES.get(facts.family)?.tokens === undefined || secret.kind === "missing") return undefined;
  const credential = secret.kind === "secret" ? secret.secret : undefined;
  if (credential !== undefined && !credential.startsWith("{")) return undefined;
  const isSame = before?.secret.kind === secret.kind && secretText(before.secret) === credential;
  return (isSame ? before.tokens : undefined) ?? createGoogleTokens(credential);
}

function secretText(secret: ResolvedSecret): string | undefined {
  return secret.kind === "secret" ? secret.secret : undefined;
}

import type { DeploymentType, Endpoint } from "./endpoint.ts";

/** USD per million tokens. A kind of token that has no price of its own costs what its whole does, `input` or `output`. */
export interface Price {
  readonly input: number;
  readonly output: number;
  /** Of input that the provider's cache gave. */
  readonly cachedInput?: number | undefined;
  /** Of input that was written to it. */
  readonly cacheWrite?: number | undefined;
  readonly audioInput?: number | undefined;
  readonly audioOutput?: number | undefined;
}

/** The account's own limits for a model, per minute; absent = no such limit. */
export interface RateLimits {
  readonly rpm: number | undefined;
  readonly tpm: number | undefined;
}

/** One provider's model inside a group. */
export interface Deployment {
  /** `provider/model`, or the explicit id of the config. Unique in its group. */
  readonly id: string;
  /** Canonical (lower-case) name of the provider. */
  readonly provider: string;
  /** The vendor's model id, exactly as the vendor spells it. */
  readonly model: string;
  readonly family: string;
  /** Whole number from 0 to 1,000,000. */
  readonly weight: number;
  readonly paused: boolean;
  /** R4: serves only this when given. */
  readonly type: DeploymentType | undefined;
  readonly price: Price | undefined;
  /** S5: at one of these it is skipped. */
  readonly limits?: RateLimits | undefined;
  /** Endpoints that the family or account serves without translation. */
  readonly native: ReadonlySet<Endpoint>;
  /** Endpoints that it serves through a translation (R5). */
  readonly translated: ReadonlySet<Endpoint>;
  /** P8: keeps responses for later requests; absent means no. */
  readonly stores?: boolean | undefined;
  /** The three scopes that a bench may name, as keys of the health snapshot (see `bench.ts`). */
  readonly scopes: DeploymentScopes;
}

/** Keys under which benches of a deployment are looked up; its load is under `model`. */
export interface DeploymentScopes {
  readonly deployment: string;
  readonly model: string;
  readonly provider: string;
}

import type { AffinityKind } from "./affinity.ts";
import type { AttemptOutcome, FallbackKind, History } from "./attempt.ts";
import type { Bench } from "./bench.ts";
import type { EpochMs } from "./ports.ts";
import type { Deployment } from "./deployment.ts";
import type { Group } from "./config-snapshot.ts";
import type { Explanation } from "./explanation.ts";

/** What `decide` answers: attempt something, or refuse. */
export type Decision = AttemptDecision | RefuseDecision;

/** Attempt this deployment after this delay within these times. */
export interface AttemptDecision {
  readonly kind: "attempt";
  readonly group: Group;
  readonly deployment: Deployment;
  /** Wait this long before the attempt, ms. */
  readonly delayMs: number;
  /** Until response headers; with `timeoutCoversBody` until the end of a response that does not stream. 0 = no bound. */
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly firstTokenTimeoutMs: number;
  readonly streamIdleTimeoutMs: number;
  readonly timeoutCoversBody: boolean;
  /** Whether this is R7's attempt at a benched deployment. */
  readonly lastResort: boolean;
  /** B4: whether this probes a benched deployment. Its outcome, whatever it is, must come singly and at once. */
  readonly probe: boolean;
  /** H4: what the key was made of that placed it; undefined where the strategy did. */
  readonly affinity: AffinityKind | undefined;
  /** How the request came to `group`, when it is not the one asked for (G2). */
  readonly fallback: FallbackKind | undefined;
  /** H4: the deployment that would come next in this group. */
  readonly next: string | undefined;
  /** Hedging: without a first token after this many ms, a second attempt may be asked for. Never when left out. */
  readonly hedgeAfterMs?: number | undefined;
  /** Why this one, for the log line: `pick`, `retry`, `failover`, `hop`, `last_resort`, `hedge`. */
  readonly step: "pick" | "retry" | "failover" | "hop" | "last_resort" | "hedge";
}

/** Refuse with this status and code. */
export interface RefuseDecision {
  readonly kind: "refuse";
  readonly status: number;
  readonly code: RefusalCode;
  /** In plain words, naming the field and the remedy; safe to show to the caller. */
  readonly message: string;
  /** `Retry-After`, ms. */
  readonly retryAfterMs: number | undefined;
  /**
   * E7: something was attempted, so the caller gets the last provider's real answer where there is one, and
   * this refusal only where there is none.
   */
  readonly exhausted: boolean;
  /** The same request again can't help, see `isFinal`; false when left out. */
  readonly final?: boolean | undefined;
  /** The group that refused, where one was found. */
  readonly group: Group | undefined;
}

/** `code` of contracts.md section 3, as far as routing gives it. */
export type RefusalCode =
  | "invalid_api_key"
  | "invalid_provider_key"
  | "model_not_allowed"
  | "embeddings_not_supported"
  | "endpoint_not_supported"
  | "stored_response_not_routable"
  | "not_found"
  | "no_deployment_available"
  | "provider_not_ready"
  | "upstream_unavailable"
  | "upstream_unreachable"
  | "upstream_timeout"
  | "upstream_invalid_response"
  | "rate_limit_exceeded"
  | "budget_exceeded"
  /** Hedging: no second attempt is made; never told to a caller. */
  | "not_hedged"
  /** 499, for the trace only: nobody is left to answer. */
  | "client_closed";

/** What a decision changes outside itself; one ledger of the router applies effects in the same turn. */
export type Effect =
  | {
      /** A call is about to be in flight. Ends with the outcome that quotes `decision`, or by itself at `expiresAt`. */
      readonly kind: "lease";
      readonly decision: string;
      readonly group: string;
      readonly deployment: string;
      readonly expiresAt: EpochMs;
      /** Key of {@link LoadSnapshot.deployments}. */
      readonly load: string;
      /** When the call begins, after its delay. */
      readonly startsAt: EpochMs;
      /** What it reserves of a limit on tokens; 0 for a caller's own key (E9), whose calls use no limit of ours. */
      readonly tokens: number;
      readonly ownKey: boolean;
    }
  | {
      /** E2: the provider asked for a longer wait than the request has left. */
      readonly kind: "bench";
      readonly bench: Bench;
    }
  | {
      /** S4, S6, B4, hedging: a counter moves on; `place` is a key of {@link LoadSnapshot.places}. */
      readonly kind: "place";
      readonly place: string;
      readonly value: number;
    }
  | {
      /** B4: the only probe of these benches is under way, until the outcome that quotes it, or until `expiresAt`. */
      readonly kind: "probe";
      readonly decision: string;
      /** Scope keys of the benches that it probes. */
      readonly keys: readonly string[];
      readonly expiresAt: EpochMs;
    }
  | {
      /** What a group's retry budget holds after this decision. */
      readonly kind: "budget";
      readonly group: string;
      readonly level: number;
      readonly at: EpochMs;
    };

/** The whole answer of one decision. */
export interface Decided {
  readonly decision: Decision;
  readonly effects: readonly Effect[];
  /** History as it stands after this decision: what the next call must bring. */
  readonly history: History;
  /** How H1 names the end of the last attempt in the history, when there is one. */
  readonly lastOutcome: AttemptOutcome | undefined;
  /** Only when asked for. */
  readonly explanation: Explanation | undefined;
}

import type { TokenCounts } from "@switchyard/core";

/** What traces are told of requests. Names and numbers only: never a secret, a prompt, a completion or an affinity key (invariant 9). */
export interface Tracer {
  /** Starts the server span of one request. */
  startRequest(start: RequestStart): RequestSpan;
  /** Exports what is held and ends, within `withinMs` whatever the collector does. Never rejects. */
  close(withinMs: number): Promise<void>;
}

export interface RequestStart {
  /** The caller's headers, flat and lower-case; `traceparent` and `tracestate` name its span. */
  readonly headers: readonly string[];
  readonly method: string;
  /** The path that is served, ids in it as `{id}`; undefined where the request has none that is. */
  readonly route: string | undefined;
  /** Of the GenAI conventions, such as `chat`; undefined where the request names none. */
  readonly operation: string | undefined;
  readonly stream: boolean;
  readonly requestId: string;
}

/** The server span of one request, begun. */
export interface RequestSpan {
  startAttempt(start: AttemptStart): AttemptSpan;
  /** Called once, after the last attempt's end. */
  end(end: RequestEnd): void;
}

export interface AttemptStart {
  readonly operation: string;
  /** Family of the provider, such as `azure_openai`. */
  readonly family: string;
  /** The vendor's model id. */
  readonly model: string;
  readonly stream: boolean;
  readonly deployment: string;
  readonly group: string;
  /** Why this one: pick, retry, failover, hop or last_resort. */
  readonly step: string;
  /** general, context, content or quota (G2); empty when none. */
  readonly fallbackKind: string;
  /** Attempts of this request before this one. */
  readonly resends: number;
}

/** The client span of one attempt, begun. */
export interface AttemptSpan {
  /** Flat `traceparent` and, where there is one, `tracestate`: what the provider is to get instead of the caller's. */
  readonly headers: readonly string[];
  /** Where it is sent: scheme, host and port. */
  sentTo(origin: string): void;
  /** A stream's first useful token has come. */
  firstToken(): void;
  /** Called once. */
  end(end: AttemptSpanEnd): void;
}

export interface AttemptSpanEnd {
  /** HTTP status, where the provider answered. */
  readonly status: number | undefined;
  /** Class of the failure; undefined when it served. */
  readonly error: string | undefined;
  readonly model: string | undefined;
  readonly usage: TokenCounts | undefined;
}

/** How a request ended and who decided what (H4). */
export interface RequestEnd {
  readonly status: number;
  /** A code of contracts section 3, or the class of what broke; undefined when it was served. */
  readonly error: string | undefined;
  /** The code of Switchyard's own refusal; `all_deployments_failed` by E7. */
  readonly refusal: string | undefined;
  /** The group asked for, once it is known to be one. */
  readonly askedGroup: string | undefined;
  /** The group of the last attempt. */
  readonly group: string | undefined;
  readonly fallbackKind: string | undefined;
  readonly strategy: string | undefined;
  /** What the affinity key was made of that placed it, never the key; empty where the strategy did. */
  readonly affinity: string | undefined;
  readonly deployment: string | undefined;
  readonly next: string | undefined;
  /** The value of `x-ants-attempts` (H1); empty when no provider was called. */
  readonly attempts: string;
  readonly configRevision: number | undefined;
  readonly key: string | undefined;
  readonly team: string | undefined;
  readonly model: string | undefined;
  readonly costUsd: number | undefined;
}

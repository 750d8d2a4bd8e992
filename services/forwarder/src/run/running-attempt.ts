import { keepsResponses } from "@switchyard/config";
import { ElsewhereFault, TranslationFault } from "@switchyard/providers";
import type { Attempt as AttemptOrder } from "@switchyard/proto/routing/v1/routing_service";
import { failure } from "@switchyard/rpc";
import type { ExchangeHead, TokenSource } from "@switchyard/upstream";
import type { Account } from "../accounts.ts";
import { Attempt } from "../attempt/attempt.ts";
import type { AttemptListener } from "../attempt/attempt.ts";
import type { AttemptFailure } from "../attempt/attempt-failure.ts";
import { blameless } from "../attempt/blameless.ts";
import { AttemptScope, overtakenCall, servedCall, UNJUDGED } from "../report/attempt-scope.ts";
import { servedHeaders } from "../reply/answers.ts";
import type { ServedFacts } from "../attempt/body.ts";
import { planAttempt } from "../attempt/plan.ts";
import type { RunDeps } from "./run-deps.ts";
import type { RunRequest } from "../request/run-request.ts";
import type { RequestTrace, TracedAttempt } from "../report/request-trace.ts";

const NOTHING: readonly string[] = [];

/** An answer that commits: its head as the caller gets it, and what is known of one that is whole. */
export interface ServedHead {
  readonly status: number;
  readonly headers: string[];
  readonly facts: ServedFacts | undefined;
}

/** Who runs a request, perhaps with two attempts side by side; `from` says which. */
export interface RunningListener {
  /** How many attempts have been sent. */
  readonly begun: number;
  /** One is about to be sent. */
  onBegin(): void;
  onServe(from: RunningAttempt, head: ServedHead): void;
  /** False asks to wait for {@link RunningAttempt.resume}. */
  onBytes(bytes: Uint8Array): boolean;
  onServed(from: RunningAttempt, facts: ServedFacts): void;
  onBroken(failure: AttemptFailure, event: Uint8Array | undefined, sequence: number | undefined): void;
  onFailed(from: RunningAttempt, failure: AttemptFailure): void;
  /** R10: its provider has no credential here, so nothing was called. */
  onNotReady(from: RunningAttempt): void;
  /** P2, BH-31: the request can't be put to its provider, or not to this account; nothing was called. */
  onUnsayable(from: RunningAttempt, fault: TranslationFault | ElsewhereFault): void;
  /** Hedging: it has not begun to answer in the time that its decision gave it, and goes on. */
  onSlow(from: RunningAttempt): void;
  /** Something of ours threw. */
  onFault(error: unknown, from: RunningAttempt): void;
}

/**
 * One attempt from its decision to its end: waits its delay, finds the account, makes the exchange and keeps the paired
 * scope of it (invariant 3). Each calls back with one end at most, and never after {@link RunningAttempt.cancel}.
 */
export class RunningAttempt implements AttemptListener {
  readonly order: AttemptOrder;
  readonly #deps: RunDeps;
  readonly #request: RunRequest;
  readonly #trace: RequestTrace | undefined;
  readonly #listener: RunningListener;
  readonly #scope: AttemptScope;
  #traced: TracedAttempt | undefined;
  #attempt: Attempt | undefined;
  /** Where it carries a token: tells that the provider does not take it. */
  #refuseToken: (() => void) | undefined;
  #delay: NodeJS.Timeout | undefined;
  #slow: NodeJS.Timeout | undefined;
  #translated = false;
  /** What the provider answers stays with it (P8). */
  #keeps = false;
  #remembered: readonly string[] = NOTHING;
  /** Its answer has begun, though it may not have been passed on. */
  #answers = false;
  #status = 0;
  #ms = 0;
  #over = false;

  /** `askedAt`: when its decision was asked for, epoch ms. */
  constructor(
    deps: RunDeps,
    request: RunRequest,
    decided: { readonly order: AttemptOrder; readonly askedAt: number },
    trace: RequestTrace | undefined,
    listener: RunningListener,
  ) {
    this.order = decided.order;
    this.#deps = deps;
    this.#request = request;
    this.#trace = trace;
    this.#listener = listener;
    const ownKey = request.ownKey !== undefined;
    this.#scope = new AttemptScope(deps, { ...decided, facts: request.facts, ownKey });
  }

  start(): void {
    const delay = Number(this.order.delayMs);
    if (delay === 0) this.#begin();
    else this.#delay = setTimeout(() => this.#begin(), delay);
  }

  /** How long it has run, or ran, whole ms. */
  get ms(): number {
    return this.#over ? this.#ms : this.#scope.ms;
  }

  resume(): void {
    this.#attempt?.resume();
  }

  /** Nobody waits for it any more: the caller has left, or the request is over. No callback follows. */
  cancel(): void {
    this.#close();
  }

  /** Hedging: the other of two was faster. As {@link cancel}; what it had taken by then is known of its deployment. */
  overtaken(): void {
    const ms = this.#scope.ms;
    const late = this.order.hedges && this.#attempt !== undefined && !this.#answers;
    if (!this.#end()) return;
    this.#attempt?.abort();
    this.#scope.end(UNJUDGED, late ? overtakenCall(ms, this.#request.facts.stream) : undefined);
  }

  /** Ends it; false where that has been before. */
  #end(): boolean {
    if (this.#over) return false;
    this.#ms = this.#scope.ms;
    this.#over = true;
    clearTimeout(this.#delay);
    clearTimeout(this.#slow);
    return true;
  }

  #begin(): void {
    try {
      const account = this.#account();
      if (account === undefined) this.#notReady();
      else if (account.tokens === undefined) this.#sendAs(account);
      else {
        this.#sendWithToken(account, account.tokens).catch((error: unknown) => {
          if (!this.#over) this.onFault(error);
        });
      }
    } catch (error) {
      this.onFault(error);
    }
  }

  /** A token is nearly always at hand; where one must be got first, the request waits for it, no longer than for a connection. */
  async #sendWithToken(account: Account, tokens: TokenSource): Promise<void> {
    const secret = tokens.current() ?? (await this.#nextToken(tokens));
    if (this.#over) return;
    if (secret === undefined) {
      this.#notReady();
      return;
    }
    this.#refuseToken = () => tokens.refused(secret);
    this.#sendAs({ ...account, secret });
  }

  async #nextToken(tokens: TokenSource): Promise<string | undefined> {
    const longest = Number(this.order.connectTimeoutMs);
    if (longest > 0) this.#delay = setTimeout(() => this.#notReady(), longest);
    const token = await tokens.next();
    clearTimeout(this.#delay);
    return token;
  }

  #sendAs(account: Account): void {
    const { order } = this;
    const { now, upstream } = this.#deps;
    try {
      this.#traced = this.#trace?.attempt(order, account.facts.family, this.#listener.begun);
      const plan = planAttempt(order, account, this.#traced?.request ?? this.#request, now());
      this.#traced?.sentTo(plan.exchange.origin);
      this.#translated = plan.answer.translated;
      this.#keeps = this.#request.storedCall === undefined && keepsResponses(account.facts);
      this.#listener.onBegin();
      this.#scope.start(this.#traced);
      this.#attempt = new Attempt(plan, account.secret, this, now);
      const slowAfter = Number(order.hedgeAfterMs);
      if (slowAfter > 0) this.#slow = setTimeout(() => this.#listener.onSlow(this), slowAfter);
      this.#attempt.start(upstream);
    } catch (error) {
      if (this.#attempt === undefined) this.#traced?.attemptEnded(UNJUDGED);
      const isUnsayable = error instanceof TranslationFault || error instanceof ElsewhereFault;
      if (!isUnsayable) this.onFault(error);
      else if (this.#close()) this.#listener.onUnsayable(this, error);
    }
  }

  #account(): Account | undefined {
    const { ownKey } = this.#request;
    const { provider } = this.order;
    if (ownKey === undefined) return this.#deps.accounts.find(provider);
    // E9 holds here too, whatever a router says: this is where the key would leave.
    if (ownKey.provider !== provider) {
      throw failure("invalid_provider_key", "x-provider-key belongs to another provider", { status: 400 });
    }
    return this.#deps.accounts.findFor(provider, ownKey.secret);
  }

  #notReady(): void {
    if (this.#close()) this.#listener.onNotReady(this);
  }

  /** Ends it as one that nobody judges; false where it has ended before. */
  #close(): boolean {
    if (!this.#end()) return false;
    this.#attempt?.abort();
    this.#scope.end(UNJUDGED);
    return true;
  }

  // --- the attempt's listener

  onAnswers(): void {
    this.#answers = true;
    clearTimeout(this.#slow);
  }

  onServe(
    head: ExchangeHead,
    facts: ServedFacts | undefined,
    keeps: readonly string[] | undefined,
    streams: boolean,
  ): void {
    this.onAnswers();
    this.#status = head.status;
    this.#remember(keeps);
    this.#traced?.serves();
    const told = streams ? "stream" : "whole";
    const headers = servedHeaders(head.headers, this.#translated ? told : undefined);
    this.#listener.onServe(this, { status: head.status, headers, facts });
  }

  /** A stream names at its end what it did not at its beginning. */
  #remember(keeps: readonly string[] | undefined): void {
    if (keeps === undefined || !this.#keeps) return;
    const before = this.#remembered;
    const more = before.length === 0 ? keeps : keeps.filter((id) => !before.includes(id));
    this.#remembered = keeps;
    if (more.length > 0) this.#deps.responses.remember(more, this.order);
  }

  onBytes(bytes: Uint8Array): boolean {
    return this.#listener.onBytes(bytes);
  }

  onServed(facts: ServedFacts): void {
    const timing = (this.#attempt as Attempt).timing;
    if (!this.#end()) return;
    this.#traced?.served(facts);
    this.#remember(facts.keeps);
    const ok = { error: undefined, status: this.#status, retryAfterMs: undefined };
    this.#scope.end(ok, servedCall(timing, facts.usage, this.order.hedges));
    this.#listener.onServed(this, facts);
  }

  onBroken(broken: AttemptFailure, event: Uint8Array | undefined, sequence: number | undefined): void {
    if (!this.#end()) return;
    this.#scope.end(broken);
    this.#listener.onBroken(broken, event, sequence);
  }

  onFailed(given: AttemptFailure): void {
    if (!this.#end()) return;
    if (given.error === "auth") this.#refuseToken?.();
    const failed = blameless(given, this.#request);
    this.#scope.end(failed);
    this.#listener.onFailed(this, failed);
  }

  onFault(error: unknown): void {
    this.#close();
    this.#listener.onFault(error, this);
  }
}

import type {
  Attempt,
  DecideRequest,
  DecideResponse,
  FailedAttempt,
  RequestFacts,
  RoutingService,
} from "@switchyard/proto/routing/v1/routing_service";
import type { Call, ServiceImpl } from "@switchyard/rpc";
import { endpointToWire } from "../request/endpoints.ts";
import type { LoadReporter } from "../report/load-reporter.ts";
import type { OutcomeReporter } from "../report/outcome-reporter.ts";
import type { RunRequest } from "../request/run-request.ts";
import { settle } from "../settle.ts";

/** Routers answer from memory: one that takes this long hangs. */
const DECIDE_MS = 10_000;
/** Four groups of 32 deployments that are not ready are 128 decisions; a router that asks for more goes in circles. */
const MOST_DECISIONS = 512;
const NO_CONTINUATION: Uint8Array = new Uint8Array(0);

/** Who asked. Not called any more after {@link DecisionStep.forget}. */
export interface DecisionListener {
  onDecided(decided: DecideResponse): void;
  onUndecided(error: unknown): void;
  /** Hedging: what is to run beside the attempt that runs; undefined where nothing is. */
  onBeside(order: Attempt | undefined): void;
}

/** What there is to tell with a question. */
interface Question {
  readonly failed: FailedAttempt | undefined;
  readonly before: FailedAttempt | undefined;
  readonly hedge: boolean;
}

export interface DecisionDeps {
  readonly router: ServiceImpl<typeof RoutingService>;
  readonly reporter: OutcomeReporter;
  readonly load: LoadReporter;
  readonly now: () => number;
}

/** Asks the router for the first and each next decision of one request. */
export class DecisionStep {
  readonly #deps: DecisionDeps;
  readonly #request: RunRequest;
  readonly #call: Call;
  readonly #listener: DecisionListener;
  #last: DecideResponse | undefined;
  #asked = 0;
  #askedAt = 0;
  #forget: (() => void) | undefined;

  constructor(deps: DecisionDeps, request: RunRequest, call: Call, listener: DecisionListener) {
    this.#deps = deps;
    this.#request = request;
    this.#call = call;
    this.#listener = listener;
  }

  /** What the router said last. */
  get last(): DecideResponse | undefined {
    return this.#last;
  }

  /** When the last decision was asked for, epoch ms. */
  get askedAt(): number {
    return this.#askedAt;
  }

  /**
   * `failed`: how the attempt ended that the last decision asked for; absent the first time. `before`: how the other
   * ended, where two ran side by side.
   */
  ask(failed: FailedAttempt | undefined, before?: FailedAttempt): void {
    this.#asked += 1;
    if (this.#asked > MOST_DECISIONS) {
      this.#listener.onUndecided(new RangeError("the router goes in circles"));
      return;
    }
    this.#send(
      { failed, before, hedge: false },
      (decided) => {
        this.#last = decided;
        this.#listener.onDecided(decided);
      },
      (error) => this.#listener.onUndecided(error),
    );
  }

  /** Hedging: asks for a second attempt beside the one that the last decision asked for. */
  askBeside(): void {
    this.#send(
      { failed: undefined, before: undefined, hedge: true },
      (decided) => {
        const { decision } = decided;
        if (decision.case === "attempt") this.#last = decided;
        this.#listener.onBeside(decision.case === "attempt" ? decision.value : undefined);
      },
      () => this.#listener.onBeside(undefined),
    );
  }

  #send(
    question: Question,
    onDecided: (decided: DecideResponse) => void,
    onError: (error: unknown) => void,
  ): void {
    const { router } = this.#deps;
    const forget = settle(
      () => router.decide(this.#message(question), this.#call),
      onDecided,
      onError,
      DECIDE_MS,
    );
    // What was answered at once may have asked again, and that may wait.
    if (forget !== undefined) this.#forget = forget;
  }

  /** Stops waiting for an answer. */
  forget(): void {
    this.#forget?.();
    this.#forget = undefined;
  }

  /** Written as literals: these are made for every request, and `create` would copy them. */
  #message({ failed, before, hedge }: Question): DecideRequest {
    const { facts, ownKey, id, infer, arrivedAt, affinity, kept, originProvider, sdk } = this.#request;
    const { deadline } = sdk;
    const now = this.#deps.now();
    this.#askedAt = now;
    const wire: RequestFacts = {
      $typeName: "switchyard.routing.v1.RequestFacts",
      id,
      endpoint: endpointToWire(facts.endpoint),
      path: infer.path,
      model: facts.model ?? "",
      stream: facts.stream,
      bodyBytes: BigInt(facts.bodyBytes),
      ownKeyProvider: ownKey?.provider ?? "",
      store: facts.store,
      originProvider: originProvider ?? "",
      elapsedMs: BigInt(Math.max(0, Math.round(now - arrivedAt))),
      sdkRetries: sdk.retries,
    };
    if (kept !== undefined) wire.kept = kept;
    if (facts.maxOutputTokens !== undefined) wire.maxOutputTokens = BigInt(facts.maxOutputTokens);
    if (affinity.hashes !== undefined) wire.affinity = affinity.hashes;
    if (deadline !== undefined) wire.deadlineMs = BigInt(Math.max(0, Math.round(deadline - now)));
    const request: DecideRequest = {
      $typeName: "switchyard.routing.v1.DecideRequest",
      facts: wire,
      // Within one process the router seals it when it is read: only a request that fails pays for that.
      continuation: this.#last?.continuation ?? NO_CONTINUATION,
      outcomes: this.#deps.reporter.recent(),
      explain: false,
      reporter: this.#deps.load.reporter,
      hedge,
    };
    if (failed !== undefined) request.failed = failed;
    if (before !== undefined) request.failedBefore = before;
    return request;
  }
}

import { randomUUID } from "node:crypto";
import { findKey, keyHashOf, outcomeFromWire } from "@switchyard/cluster";
import type { HealthReplica } from "@switchyard/cluster";
import { decide, EMPTY_HISTORY } from "@switchyard/core";
import type {
  AffinityHashes,
  CallerKey,
  ConfigSnapshot,
  DecideInput,
  Decided,
  History,
  Outcome,
  RequestFacts,
  RunningAttempt,
} from "@switchyard/core";
import type { Outcome as WireOutcome } from "@switchyard/proto/events/v1/events";
import type {
  AffinityHashes as WireHashes,
  DecideRequest,
  DecideResponse,
  RequestFacts as WireFacts,
} from "@switchyard/proto/routing/v1/routing_service";
import { failure } from "@switchyard/rpc";
import type { Call } from "@switchyard/rpc";
import type { ConfigHistory } from "./config-history.ts";
import type { DecisionRecorder } from "./decision-recorder.ts";
import { openContinuation, sealContinuation } from "./continuation.ts";
import type { PendingCall, Resumed } from "./continuation.ts";
import type { LoadBook } from "./load-book.ts";
import { decisionToWire, endpointFromWire, explanationToWire } from "./messages.ts";
import type { ProbeDemand } from "./probe-demand.ts";
import type { Seal } from "./seal.ts";

export interface DeciderDeps {
  readonly configs: ConfigHistory;
  readonly health: HealthReplica;
  readonly load: LoadBook;
  readonly probes: ProbeDemand;
  readonly seal: Seal;
  readonly now: () => number;
  /** Of this router, as health names it (B4). */
  readonly name: string;
  /** An unsigned 32-bit integer, a new one each time. */
  readonly seed: () => number;
  /** Absent where decisions are not logged. */
  readonly recorder: DecisionRecorder | undefined;
}

const NOTHING: Uint8Array<ArrayBuffer> = new Uint8Array(0);

/** Decides, and applies what a decision changes, in one turn. */
export class Decider {
  readonly #deps: DeciderDeps;

  constructor(deps: DeciderDeps) {
    this.#deps = deps;
  }

  decide(request: DecideRequest, call: Call): DecideResponse {
    const { health, load, probes, seal } = this.#deps;
    const now = this.#deps.now();
    const keyHash = keyHashOf(call);
    const resumed = this.#resume(request, keyHash, now);
    const current = this.#config();
    const config = resumed === undefined ? current : (this.#deps.configs.at(resumed.revision) ?? current);
    const key = findKey(config, keyHash);
    if (request.outcomes.length > 0) this.#hear(request.outcomes, key);
    if (resumed !== undefined) this.#learn(resumed, request);
    const running = request.hedge ? resumed?.pending : undefined;

    const known: Known = {
      requestId: resumed?.requestId ?? request.facts?.id ?? "",
      keyHash,
      revision: config.revision,
      seed: resumed?.seed ?? this.#deps.seed(),
      arrivedAt: resumed?.arrivedAt ?? now - Number(request.facts?.elapsedMs ?? 0n),
      history: resumed?.history ?? EMPTY_HISTORY,
    };
    const decisionId = randomUUID();
    const input: DecideInput = {
      config,
      health: health.snapshot,
      load: load.snapshot(),
      request: { facts: factsOf(request.facts, known, now), key },
      history: known.history,
      running: running && runningOf(running),
      now,
      seed: known.seed,
      decisionId,
      router: this.#deps.name,
      explain: request.explain,
    };
    const decided = decide(input);
    this.#deps.recorder?.decided(input, decided);
    load.apply(decided.effects, now, request.reporter);
    probes.saw(decided.history, now);
    for (const effect of decided.effects) if (effect.kind === "bench") health.bench(effect.bench);
    const settled = { ...known, history: decided.history };
    return respond({ decided, decisionId, known: settled, now, seal, key, beside: running });
  }

  /** Decides on the same path as {@link decide} and changes nothing (R8). */
  explain(facts: WireFacts | undefined, seed: number | undefined, call: Call): DecideResponse {
    const now = this.#deps.now();
    const config = this.#config();
    const keyHash = keyHashOf(call);
    const key = findKey(config, keyHash);
    const known: Known = {
      requestId: facts?.id ?? "",
      keyHash,
      revision: config.revision,
      seed: seed ?? this.#deps.seed(),
      arrivedAt: now - Number(facts?.elapsedMs ?? 0n),
      history: EMPTY_HISTORY,
    };
    const decisionId = randomUUID();
    const decided = decide({
      config,
      health: this.#deps.health.snapshot,
      load: this.#deps.load.snapshot(),
      request: { facts: factsOf(facts, known, now), key },
      history: EMPTY_HISTORY,
      now,
      seed: known.seed,
      decisionId,
      router: this.#deps.name,
      explain: true,
    });
    return respond({ decided, decisionId, known, now, seal: undefined, key });
  }

  #config(): ConfigSnapshot {
    const config = this.#deps.configs.current;
    if (config === undefined) {
      throw failure("upstream_unavailable", "this router has no config yet", { status: 503 });
    }
    return config;
  }

  #resume(request: DecideRequest, keyHash: string, now: number): Resumed | undefined {
    const { hedge } = request;
    if (request.continuation.length === 0 && !hedge) return undefined;
    if (hedge === (request.failed !== undefined)) {
      const problem = hedge
        ? "hedge: an attempt that has failed has nothing beside it"
        : "failed: say how the attempt ended that the continuation asked for";
      throw failure("invalid_request", problem, { status: 400 });
    }
    const resumed = openContinuation(this.#deps.seal, request.continuation, request, now);
    if (resumed === undefined || resumed.keyHash !== keyHash) {
      throw failure("invalid_request", "continuation: it was not given to this caller by this cluster", {
        status: 400,
      });
    }
    if (!hedge && resumed.failed.length === 0) {
      const problem =
        "failed, failed_before: say of both attempts that ran side by side how they ended, by their ids";
      throw failure("invalid_request", problem, { status: 400 });
    }
    return resumed;
  }

  /**
   * B6: what the caller met lately. Nobody unknown is heard, and nobody about another project; a forwarder tells all it
   * met with each request, so each project's news comes with its own requests.
   */
  #hear(outcomes: readonly WireOutcome[], key: CallerKey | undefined): void {
    if (key === undefined) return;
    const project = `${key.project}/`;
    this.#observe(outcomes.filter(({ group }) => group.startsWith(project)).map(outcomeFromWire));
  }

  /** B6: what this router's own callers met counts here at once, also while the bus is away. */
  #learn(resumed: Resumed, request: DecideRequest): void {
    const ownKey = (request.facts?.ownKeyProvider ?? "") !== "";
    this.#observe(
      resumed.failed.map(({ attempt, call }) => ({
        decision: attempt.decision,
        group: attempt.group,
        deployment: attempt.deployment,
        error: attempt.error,
        status: attempt.status,
        retryAfterMs: attempt.retryAfterMs,
        decidedAt: call.decidedAt,
        at: attempt.endedAt,
        probe: call.lastResort || call.probe,
        ownKey,
      })),
    );
  }

  #observe(outcomes: readonly Outcome[]): void {
    this.#deps.health.observe(outcomes);
    this.#deps.load.observe(outcomes);
  }
}

function runningOf({ decision, group, deployment, decidedAt }: PendingCall): RunningAttempt {
  return { decision, group, deployment, startedAt: decidedAt };
}

type Known = Pick<Resumed, "requestId" | "keyHash" | "revision" | "seed" | "arrivedAt" | "history">;

function factsOf(wire: WireFacts | undefined, known: Known, now: number): RequestFacts {
  return {
    id: known.requestId,
    endpoint: endpointFromWire(wire?.endpoint ?? 0),
    path: wire?.path ?? "",
    model: wire === undefined || wire.model === "" ? undefined : wire.model,
    stream: wire?.stream ?? false,
    bodyBytes: Number(wire?.bodyBytes ?? 0n),
    ...keptFrom(wire),
    ownKeyProvider:
      wire === undefined || wire.ownKeyProvider === "" ? undefined : wire.ownKeyProvider.toLowerCase(),
    ...countsFrom(wire),
    affinity: wire?.affinity && affinityFrom(wire.affinity),
    sdkRetries: wire?.sdkRetries === 0 ? undefined : wire?.sdkRetries,
    arrivedAt: known.arrivedAt,
    deadline: wire?.deadlineMs === undefined ? undefined : now + Number(wire.deadlineMs),
  };
}

/** P8, BH-31: which account a request of `/v1/responses` is bound to. */
function keptFrom(
  wire: WireFacts | undefined,
): Pick<RequestFacts, "storedResponse" | "kept" | "store" | "originProvider"> {
  const kept = wire?.kept;
  return {
    storedResponse: kept !== undefined,
    kept:
      kept === undefined || kept.provider === ""
        ? undefined
        : {
            provider: kept.provider.toLowerCase(),
            group: kept.groupKey,
            servedBy: kept.servedBy,
            ...(kept.otherGroupKeys.length === 0 ? undefined : { others: kept.otherGroupKeys }),
          },
    store: wire?.store ?? false,
    originProvider: wire?.originProvider.toLowerCase() || undefined,
  };
}

function countsFrom(wire: WireFacts | undefined): Pick<RequestFacts, "inputTokens" | "maxOutputTokens"> {
  const { inputTokens, maxOutputTokens } = wire ?? {};
  return {
    inputTokens: inputTokens === undefined ? undefined : Number(inputTokens),
    maxOutputTokens: maxOutputTokens === undefined ? undefined : Number(maxOutputTokens),
  };
}

function affinityFrom({ session, conversation, expressions }: WireHashes): AffinityHashes {
  return { session, conversation, expressions: new Map(Object.entries(expressions)) };
}

function respond(parts: {
  readonly decided: Decided;
  readonly decisionId: string;
  readonly known: Known & { readonly history: History };
  readonly now: number;
  /** Absent: no continuation is given. */
  readonly seal: Seal | undefined;
  readonly key: { readonly name: string; readonly team: string | undefined } | undefined;
  /** Hedging: the attempt beside which the one decided is to run. */
  readonly beside?: PendingCall | undefined;
}): DecideResponse {
  const { decided, decisionId, known, seal, beside } = parts;
  const { decision } = decided;
  const response: DecideResponse = {
    $typeName: "switchyard.routing.v1.DecideResponse",
    decision: decisionToWire(decided, decisionId),
    // Made when it is read: within one process only a request that fails ever reads it.
    get continuation() {
      if (decision.kind !== "attempt" || seal === undefined) return NOTHING;
      return sealContinuation(seal, known, { decisionId, decision, decidedAt: parts.now }, beside);
    },
    lastOutcome: decided.lastOutcome ?? "",
    configRevision: BigInt(known.revision),
    keyName: parts.key?.name ?? "",
    team: parts.key?.team ?? "",
  };
  if (decided.explanation !== undefined) response.explanation = explanationToWire(decided.explanation);
  return response;
}

import type { AffinityHashes } from "../domain/affinity.ts";
import type { FailedAttempt, FallbackKind, History, RunningAttempt } from "../domain/attempt.ts";
import type { Bench, BenchEntry, BenchReason, BenchScope } from "../domain/bench.ts";
import type { RefusalCode } from "../domain/decision.ts";
import { ENDPOINTS } from "../domain/endpoint.ts";
import { ERROR_CLASSES } from "../domain/error-class.ts";
import type { DeploymentLoad, LoadSnapshot } from "../domain/load.ts";
import type { Price } from "../domain/deployment.ts";
import type { RequestFacts } from "../domain/request-facts.ts";
import type { TokenCounts } from "../domain/token-cost.ts";
import { Fields, LineFault, readNumber } from "./fields.ts";
import type { DecisionLine, LogLine, OutcomeLine, Taken } from "./line.ts";

const KINDS = ["decision", "outcome", "dropped"] as const;
const FALLBACKS: readonly FallbackKind[] = ["general", "context", "content", "quota"];
const SCOPES: readonly BenchScope[] = ["deployment", "model", "provider"];
const REASONS: readonly BenchReason[] = [
  "failures",
  "rate_limited",
  "quota_exhausted",
  "retry_after",
  "manual",
];
const STEPS = ["pick", "retry", "failover", "hop", "last_resort", "hedge"] as const;

/** With every field, so that one which is added to a decision's inputs cannot be forgotten here. */
type Complete<Shape> = { readonly [Name in keyof Required<Shape>]: Shape[Name] };

/** Reads one line of a decision log. Throws a `LineFault` that says what is wrong where; never quotes the line. */
export function parseLine(text: string): LogLine {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new LineFault("", "no JSON");
  }
  const line = new Fields(value);
  switch (line.oneOf("kind", KINDS)) {
    case "decision":
      return decisionFrom(line);
    case "outcome":
      return outcomeFrom(line);
    case "dropped":
      return { kind: "dropped", lines: line.number("lines") };
  }
}

function decisionFrom(line: Fields): DecisionLine {
  const config = line.object("config");
  const caller = line.optionalObject("caller");
  const health = line.object("health");
  const running = line.optionalObject("running");
  return {
    kind: "decision",
    id: line.text("id"),
    router: line.optionalText("router"),
    now: line.number("now"),
    seed: line.number("seed"),
    config: { revision: config.number("revision"), hash: config.text("hash") },
    caller: caller && {
      project: caller.text("project"),
      name: caller.text("name"),
      open: caller.flag("open"),
    },
    facts: factsFrom(line.object("facts")),
    history: historyFrom(line.object("history")),
    running: running && runningFrom(running),
    health: {
      version: health.number("version"),
      benches: health.map("benches", (entry, at) => entryFrom(new Fields(entry, at))),
    },
    load: loadFrom(line.object("load")),
    taken: takenFrom(line.object("taken")),
    check: line.number("check"),
  };
}

function outcomeFrom(line: Fields): OutcomeLine {
  const usage = line.optionalObject("usage");
  return {
    kind: "outcome",
    decision: line.text("decision"),
    error: line.optionalOneOf("error", ERROR_CLASSES),
    status: line.optionalNumber("status"),
    retryAfterMs: line.optionalNumber("retryAfterMs"),
    ms: line.optionalNumber("ms"),
    usage: usage && countsFrom(usage),
    costUsd: line.optionalNumber("costUsd"),
  };
}

function countsFrom(usage: Fields): TokenCounts {
  const parts = ["cached", "cacheWritten", "audioInput", "reasoning", "audioOutput"] as const;
  return { input: usage.number("input"), output: usage.number("output"), ...usage.numbers(parts) };
}

function priceFrom(price: Fields): Price {
  const parts = ["cachedInput", "cacheWrite", "audioInput", "audioOutput"] as const;
  return { input: price.number("input"), output: price.number("output"), ...price.numbers(parts) };
}

function factsFrom(facts: Fields): Complete<RequestFacts> {
  const kept = facts.optionalObject("kept");
  const affinity = facts.optionalObject("affinity");
  return {
    id: facts.text("id"),
    endpoint: facts.oneOf("endpoint", ENDPOINTS),
    path: facts.text("path"),
    model: facts.optionalText("model"),
    stream: facts.flag("stream"),
    bodyBytes: facts.number("bodyBytes"),
    inputTokens: facts.optionalNumber("inputTokens"),
    maxOutputTokens: facts.optionalNumber("maxOutputTokens"),
    affinity: affinity && affinityFrom(affinity),
    storedResponse: facts.flag("storedResponse"),
    kept: kept && {
      provider: kept.text("provider"),
      group: kept.text("group"),
      servedBy: kept.text("servedBy"),
      others: kept.optionalTexts("others"),
    },
    store: facts.optionalFlag("store"),
    originProvider: facts.optionalText("originProvider"),
    ownKeyProvider: facts.optionalText("ownKeyProvider"),
    sdkRetries: facts.optionalNumber("sdkRetries"),
    arrivedAt: facts.number("arrivedAt"),
    deadline: facts.optionalNumber("deadline"),
  };
}

function affinityFrom(affinity: Fields): Complete<AffinityHashes> {
  return {
    session: affinity.optionalNumber("session"),
    conversation: affinity.optionalNumber("conversation"),
    expressions: affinity.optionalMap("expressions", readNumber),
  };
}

function historyFrom(history: Fields): Complete<History> {
  return {
    asked: history.optionalText("asked"),
    hops: history.list("hops", (item, at) => {
      const hop = new Fields(item, at);
      return { group: hop.text("group"), kind: hop.oneOf("kind", FALLBACKS) };
    }),
    attempts: history.list("attempts", (item, at) => attemptFrom(new Fields(item, at))),
    lastResorts: history.texts("lastResorts"),
    hedged: history.optionalFlag("hedged"),
  };
}

function attemptFrom(attempt: Fields): Complete<FailedAttempt> {
  return {
    decision: attempt.text("decision"),
    group: attempt.text("group"),
    deployment: attempt.text("deployment"),
    error: attempt.oneOf("error", ERROR_CLASSES),
    status: attempt.optionalNumber("status"),
    retryAfterMs: attempt.optionalNumber("retryAfterMs"),
    startedAt: attempt.number("startedAt"),
    endedAt: attempt.number("endedAt"),
  };
}

function runningFrom(running: Fields): Complete<RunningAttempt> {
  return {
    decision: running.text("decision"),
    group: running.text("group"),
    deployment: running.text("deployment"),
    startedAt: running.number("startedAt"),
  };
}

function entryFrom(entry: Fields): Complete<BenchEntry> {
  const policy = entry.optionalObject("policy");
  const manual = entry.optionalObject("manual");
  const probe = entry.optionalObject("probe");
  const ramp = entry.optionalObject("ramp");
  return {
    policy: policy && benchFrom(policy),
    manual: manual && benchFrom(manual),
    policyClearedAt: entry.number("policyClearedAt"),
    manualClearedAt: entry.number("manualClearedAt"),
    probe: probe && { router: probe.text("router"), until: probe.number("until") },
    ramp: ramp && {
      from: ramp.number("from"),
      since: ramp.number("since"),
      steps: ramp.number("steps"),
      group: ramp.optionalText("group"),
    },
  };
}

function benchFrom(bench: Fields): Complete<Bench> {
  return {
    key: bench.text("key"),
    scope: bench.oneOf("scope", SCOPES),
    until: bench.number("until"),
    since: bench.number("since"),
    reason: bench.oneOf("reason", REASONS),
    group: bench.optionalText("group"),
    rampSteps: bench.optionalNumber("rampSteps"),
    by: bench.optionalText("by"),
  };
}

function loadFrom(load: Fields): Complete<LoadSnapshot> {
  return {
    notReady: new Set(load.texts("notReady")),
    places: load.map("places", readNumber),
    deployments: load.map("deployments", (one, at) => deploymentFrom(new Fields(one, at))),
    probes: load.map("probes", (one, at) => {
      const probe = new Fields(one, at);
      return { decision: probe.text("decision"), until: probe.number("until") };
    }),
    budgets: load.map("budgets", (one, at) => {
      const budget = new Fields(one, at);
      return { level: budget.number("level"), at: budget.number("at") };
    }),
    routers: load.optionalNumber("routers"),
    probers: load.optionalMap("probers", readNumber),
  };
}

function deploymentFrom(one: Fields): Complete<DeploymentLoad> {
  return {
    inFlight: one.number("inFlight"),
    minute: one.number("minute"),
    requests: one.number("requests"),
    tokens: one.number("tokens"),
    samples: one.number("samples"),
    firstTokenMs: one.optionalNumber("firstTokenMs"),
    perTokenMs: one.optionalNumber("perTokenMs"),
    streamP95Ms: one.optionalNumber("streamP95Ms"),
    wholeP95Ms: one.optionalNumber("wholeP95Ms"),
    successes: one.number("successes"),
    failures: one.number("failures"),
    measuredAt: one.number("measuredAt"),
    countedAt: one.number("countedAt"),
  };
}

function takenFrom(taken: Fields): Taken {
  const kind = taken.oneOf("kind", ["attempt", "refuse"] as const);
  const asked = taken.optionalText("asked");
  if (kind === "refuse") {
    // Codes are only counted, so one of a later version is as good.
    const code = taken.text("code") as RefusalCode;
    return { kind, asked, status: taken.number("status"), code, exhausted: taken.flag("exhausted") };
  }
  const price = taken.optionalObject("price");
  return {
    kind,
    asked,
    group: taken.text("group"),
    deployment: taken.text("deployment"),
    load: taken.text("load"),
    price: price && priceFrom(price),
    step: taken.oneOf("step", STEPS),
    delayMs: taken.number("delayMs"),
  };
}

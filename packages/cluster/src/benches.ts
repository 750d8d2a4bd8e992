import { create } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { Bench, BenchEntry, BenchReason, BenchScope, EpochMs, ProbeLease, Ramp } from "@switchyard/core";
import { BenchScope as WireScope } from "@switchyard/proto/config/v1/policy";
import {
  BenchReason as WireReason,
  BenchSchema,
  ProbeLeaseSchema,
  RampSchema,
  ScopeStateSchema,
} from "@switchyard/proto/events/v1/events";
import type {
  Bench as WireBench,
  ProbeLease as WireProbe,
  Ramp as WireRamp,
  ScopeState,
} from "@switchyard/proto/events/v1/events";

const SCOPES: Readonly<Record<BenchScope, WireScope>> = {
  deployment: WireScope.DEPLOYMENT,
  model: WireScope.MODEL,
  provider: WireScope.PROVIDER,
};

const REASONS: Readonly<Record<BenchReason, WireReason>> = {
  failures: WireReason.FAILURES,
  rate_limited: WireReason.RATE_LIMITED,
  quota_exhausted: WireReason.QUOTA_EXHAUSTED,
  retry_after: WireReason.RETRY_AFTER,
  manual: WireReason.MANUAL,
};

/** The wire form of a bench as of `now`. */
export function benchToWire(bench: Bench, now: EpochMs): WireBench {
  return create(BenchSchema, {
    key: bench.key,
    scope: SCOPES[bench.scope],
    reason: REASONS[bench.reason],
    group: bench.group ?? "",
    until: timestampFromMs(Math.round(bench.until)),
    since: timestampFromMs(Math.round(bench.since)),
    remaining: durationFromMs(Math.max(0, Math.round(bench.until - now))),
    by: bench.by ?? "",
    rampSteps: bench.rampSteps ?? 0,
  });
}

/** The wire form of what is known of a scope. */
export function entryToWire(key: string, entry: BenchEntry, now: EpochMs): ScopeState {
  return create(ScopeStateSchema, {
    key,
    policyClearedAt: timestampFromMs(Math.round(entry.policyClearedAt)),
    manualClearedAt: timestampFromMs(Math.round(entry.manualClearedAt)),
    writtenAt: timestampFromMs(Math.round(now)),
    ...(entry.policy === undefined ? {} : { policy: benchToWire(entry.policy, now) }),
    ...(entry.manual === undefined ? {} : { manual: benchToWire(entry.manual, now) }),
    ...(entry.probe === undefined ? {} : { probe: probeToWire(entry.probe) }),
    ...(entry.ramp === undefined ? {} : { ramp: rampToWire(entry.ramp) }),
  });
}

function probeToWire({ router, until }: ProbeLease): WireProbe {
  return create(ProbeLeaseSchema, { router, until: timestampFromMs(Math.round(until)) });
}

function rampToWire({ from, since, steps, group }: Ramp): WireRamp {
  return create(RampSchema, {
    from: timestampFromMs(Math.round(from)),
    since: timestampFromMs(Math.round(since)),
    steps,
    group: group ?? "",
  });
}

/**
 * What is known of a scope, with its times moved by `shift` ms: the difference between the reader's clock and the
 * writer's.
 */
export function entryFromWire(wire: ScopeState, shift: number): BenchEntry {
  return {
    policy: wire.policy === undefined ? undefined : benchFromWire(wire.policy, shift),
    manual: wire.manual === undefined ? undefined : benchFromWire(wire.manual, shift),
    policyClearedAt: epochMs(wire.policyClearedAt, shift),
    manualClearedAt: epochMs(wire.manualClearedAt, shift),
    ...(wire.probe === undefined
      ? undefined
      : { probe: { router: wire.probe.router, until: epochMs(wire.probe.until, shift) } }),
    ...(wire.ramp === undefined ? undefined : { ramp: rampFromWire(wire.ramp, shift) }),
  };
}

function rampFromWire(wire: WireRamp, shift: number): Ramp {
  return {
    from: epochMs(wire.from, shift),
    since: epochMs(wire.since, shift),
    steps: wire.steps,
    group: wire.group === "" ? undefined : wire.group,
  };
}

function benchFromWire(wire: WireBench, shift: number): Bench {
  return {
    key: wire.key,
    scope: nameOf(SCOPES, wire.scope, "deployment"),
    reason: nameOf(REASONS, wire.reason, "failures"),
    group: wire.group === "" ? undefined : wire.group,
    until: epochMs(wire.until, shift),
    since: epochMs(wire.since, shift),
    ...(wire.by === "" ? undefined : { by: wire.by }),
    ...(wire.rampSteps === 0 ? undefined : { rampSteps: wire.rampSteps }),
  };
}

/** The end of the year 9999, where both a `Date` and a timestamp on the wire still are one. */
const LATEST = 253_402_300_799_000;

/**
 * A time that others wrote, moved by `shift` ms, within what can be logged and written again. 0 stays 0, as does what
 * is not there: it means "never".
 */
export function epochMs(wire: Timestamp | undefined, shift = 0): EpochMs {
  const ms = wire === undefined ? 0 : timestampMs(wire);
  return ms === 0 ? 0 : Math.min(Math.max(0, ms + shift), LATEST);
}

function nameOf<Name extends string, Value>(
  table: Readonly<Record<Name, Value>>,
  value: Value,
  other: Name,
): Name {
  for (const name in table) if (table[name] === value) return name;
  return other;
}

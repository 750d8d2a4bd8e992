import { create } from "@bufbuild/protobuf";
import { durationFromMs, durationMs, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { Bench, BenchReason, BenchScope, EpochMs } from "@switchyard/core";
import { BenchScope as WireScope } from "@switchyard/proto/config/v1/policy";
import { BenchReason as WireReason, BenchSchema } from "@switchyard/proto/events/v1/events";
import type { Bench as WireBench } from "@switchyard/proto/events/v1/events";

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

/** The wire form of a bench as of `now`; `by` names the person who made it. */
export function benchToWire(bench: Bench, now: EpochMs, by = ""): WireBench {
  return create(BenchSchema, {
    key: bench.key,
    scope: SCOPES[bench.scope],
    reason: REASONS[bench.reason],
    group: bench.group ?? "",
    until: timestampFromMs(Math.round(bench.until)),
    since: timestampFromMs(Math.round(bench.since)),
    remaining: durationFromMs(Math.max(0, Math.round(bench.until - now))),
    by,
  });
}

/**
 * A bench that just came over the bus: it ends `remaining` from now on this process's own clock, so that clocks
 * that differ don't shorten it.
 */
export function benchFromEvent(wire: WireBench, now: EpochMs): Bench {
  return toBench(wire, now + (wire.remaining === undefined ? 0 : durationMs(wire.remaining)));
}

/** A bench read from the store: only its end by the writer's clock is known. */
export function benchFromStore(wire: WireBench): Bench {
  return toBench(wire, wire.until === undefined ? 0 : timestampMs(wire.until));
}

function toBench(wire: WireBench, until: EpochMs): Bench {
  return {
    key: wire.key,
    scope: nameOf(SCOPES, wire.scope, "deployment"),
    reason: nameOf(REASONS, wire.reason, "failures"),
    group: wire.group === "" ? undefined : wire.group,
    until,
    since: wire.since === undefined ? 0 : timestampMs(wire.since),
  };
}

function nameOf<Name extends string, Value>(
  table: Readonly<Record<Name, Value>>,
  value: Value,
  other: Name,
): Name {
  for (const name in table) if (table[name] === value) return name;
  return other;
}

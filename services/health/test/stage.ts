import { create, toBinary } from "@bufbuild/protobuf";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Bus } from "@switchyard/bus";
import { FeedState, outcomeToWire, SUBJECTS } from "@switchyard/cluster";
import { decodeConfig } from "@switchyard/config";
import type { Outcome } from "@switchyard/core";
import { OutcomeBatchSchema } from "@switchyard/proto/events/v1/events";
import {
  BenchRequestSchema,
  ListBenchesRequestSchema,
  ReportOutcomesRequestSchema,
  ScopeSchema,
  UnbenchRequestSchema,
  WatchBenchesRequestSchema,
} from "@switchyard/proto/health/v1/health_state_service";
import type { Scope, WatchBenchesResponse } from "@switchyard/proto/health/v1/health_state_service";
import { CallContext } from "@switchyard/rpc";
import type { ConnectError, Sink } from "@switchyard/rpc";
import { Metrics, SILENT } from "@switchyard/telemetry";
import type { FakeClock } from "@switchyard/testkit";
import { createHealth } from "../src/index.ts";
import type { Health } from "../src/index.ts";

const CONFIG = `
providers:
  - { name: a, family: openai_compatible, base_url: "http://127.0.0.1:1/v1", credential: { none: true } }
groups:
  - name: g
    deployments: [{ provider: a, model: m }, { provider: a, model: n }]
    policy: { bench: { failures: 1, window: 60s, cooloff: 5s } }
  - name: other
    deployments: [{ provider: a, model: m }]
    policy: { bench: { failures: 1, window: 60s, cooloff: 5s } }
keys:
  - { name: k, secret: { env: CK }, groups: [g] }
  - { name: boss, secret: { env: BOSS }, groups: [g], roles: [caller, account_admin] }
  - { name: project-boss, secret: { env: PB }, groups: [g], roles: [project_admin] }
`;

/** What watchers were told, in short. */
export class WatchSink implements Sink<WatchBenchesResponse> {
  readonly told: string[] = [];
  full = false;
  ended = 0;
  failed: ConnectError | undefined;
  #drain: (() => void) | undefined;

  send({ update }: WatchBenchesResponse): boolean {
    if (update.case === "state") {
      this.told.push(`state ${update.value.benches.map((bench) => bench.key).join(",")}`);
    } else if (update.case === "change") {
      const scopes = update.value.scopes.map(({ key, policy, manual }) => {
        const stands = policy !== undefined || manual !== undefined;
        return `${stands ? "+" : "-"}${key}`;
      });
      this.told.push(`change ${scopes.join(",")}`);
    }
    return !this.full;
  }
  end(): void {
    this.ended += 1;
  }
  fail(error: ConnectError): void {
    this.failed = error;
  }
  onDrain(listener: () => void): void {
    this.#drain = listener;
  }
  drain(): void {
    this.full = false;
    this.#drain?.();
  }
}

export function scopeOf(deployment: string): Scope {
  return create(ScopeSchema, { target: { case: "deployment", value: { group: "g", deployment } } });
}

const SCOPE = scopeOf("a/m");

export function failed(decision: string, at: number, over: Partial<Outcome> = {}): Outcome {
  return {
    decision,
    group: "default/g",
    deployment: "a/m",
    error: "server_error",
    status: 500,
    retryAfterMs: undefined,
    decidedAt: at,
    at,
    probe: false,
    ownKey: false,
    ...over,
  };
}

/** A forwarder's report, over the bus. */
export function publish(bus: Bus, ...outcomes: readonly Outcome[]): void {
  const batch = create(OutcomeBatchSchema, { forwarder: "f", outcomes: outcomes.map(outcomeToWire) });
  bus.publish(SUBJECTS.outcomesOf("f"), toBinary(OutcomeBatchSchema, batch));
}

export type Stage = ReturnType<typeof startHealth>;

/** A health service, and its clients by the name of their key's variable. */
export function startHealth(bus: Bus, clock: FakeClock, name = "h1") {
  const feed = new FeedState();
  const { config, faults } = decodeConfig(CONFIG);
  if (config === undefined) throw new Error(JSON.stringify(faults));
  feed.replace({ config, revision: 1 });
  const metrics = new Metrics();
  const health: Health = createHealth({
    bus,
    config: feed,
    secrets: { env: (variable) => variable.toLowerCase(), file: () => undefined },
    logger: SILENT,
    metrics,
    now: () => clock.now(),
    name,
  });
  const { service } = health;
  const callOf = (key: string): CallContext =>
    new CallContext({ headers: key === "" ? {} : { authorization: `Bearer ${key}` } });
  return {
    health,
    metrics,
    callOf,
    list: async (key = "ck"): Promise<string[]> => {
      const { benches } = await service.listBenches(create(ListBenchesRequestSchema), callOf(key));
      return benches.map((bench) => bench.key);
    },
    /** Who made each bench in force: a person, or the group whose rule it is. */
    makers: async (): Promise<string[]> => {
      const { benches } = await service.listBenches(create(ListBenchesRequestSchema), callOf("ck"));
      return benches.map(({ by, group }) => by || group);
    },
    watch: (sink: WatchSink, call = callOf("ck")): CallContext => {
      service.watchBenches(create(WatchBenchesRequestSchema), sink, call);
      return call;
    },
    bench: async (key: string, seconds = 60, scope = SCOPE): Promise<void> => {
      const duration = { seconds: BigInt(seconds) };
      const init: MessageInitShape<typeof BenchRequestSchema> = { scope, duration };
      await service.bench(create(BenchRequestSchema, init), callOf(key));
      clock.advance(1);
    },
    unbench: async (key: string, scope = SCOPE): Promise<boolean> => {
      const answer = await service.unbench(create(UnbenchRequestSchema, { scope }), callOf(key));
      clock.advance(1);
      return answer.wasBenched;
    },
    report: async (key: string, ...outcomes: readonly Outcome[]): Promise<number> => {
      const request = create(ReportOutcomesRequestSchema, { outcomes: outcomes.map(outcomeToWire) });
      return (await service.reportOutcomes(request, callOf(key))).accepted;
    },
  };
}

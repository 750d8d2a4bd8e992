import { create } from "@bufbuild/protobuf";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { Endpoint } from "@switchyard/proto/config/v1/config";
import { ErrorClass } from "@switchyard/proto/config/v1/policy";
import { BenchReason } from "@switchyard/proto/events/v1/events";
import type { Bench } from "@switchyard/proto/events/v1/events";
import {
  BenchRequestSchema,
  HealthStateService,
  ListBenchesRequestSchema,
  ReportOutcomesRequestSchema,
  UnbenchRequestSchema,
  WatchBenchesRequestSchema,
} from "@switchyard/proto/health/v1/health_state_service";
import type { ScopeSchema, WatchBenchesResponse } from "@switchyard/proto/health/v1/health_state_service";
import { DecideRequestSchema } from "@switchyard/proto/routing/v1/routing_service";
import { Code, ConnectError, readStream } from "@switchyard/rpc";
import { comesTrue, eventually } from "@switchyard/testkit";
import { expect } from "vitest";
import { as, caught, expectInfo } from "../contract-case.ts";
import type { MethodContract } from "../contract-case.ts";
import { KEYS } from "../stage.ts";
import type { Clients } from "../transports.ts";

type Scope = MessageInitShape<typeof ScopeSchema>;
const MINUTE = { seconds: 60n };
const FRAGILE = scopeOf("fragile", "a/m-a");

function scopeOf(group: string, deployment: string): Scope {
  return { target: { case: "deployment", value: { group, deployment } } };
}

async function bench({ health }: Clients, scope: Scope, key = KEYS.boss): Promise<Bench | undefined> {
  return (await health.bench(create(BenchRequestSchema, { scope, duration: MINUTE }), as(key))).bench;
}

async function unbench({ health }: Clients, scope: Scope, key = KEYS.boss): Promise<boolean> {
  const { wasBenched } = await health.unbench(create(UnbenchRequestSchema, { scope }), as(key));
  // What fails in this same millisecond counts as what failed before.
  const at = Date.now();
  await comesTrue(() => Date.now() > at);
  return wasBenched;
}

async function list({ health }: Clients, key = KEYS.caller): Promise<Bench[]> {
  return (await health.listBenches(create(ListBenchesRequestSchema), as(key))).benches;
}

async function report({ health }: Clients, outcomes: object[], key = KEYS.caller): Promise<number> {
  return (await health.reportOutcomes(create(ReportOutcomesRequestSchema, { outcomes }), as(key))).accepted;
}

/** What Decide answers for a group now. */
async function chosen({ routing }: Clients, model: string): Promise<string | undefined> {
  const request = create(DecideRequestSchema, { facts: { id: "r", endpoint: Endpoint.CHAT, model } });
  const { decision } = await routing.decide(request, as(KEYS.caller));
  return decision.case === "attempt" ? decision.value.deployment : decision.value?.code;
}

/** Needs a known key, and for what changes something an admin's. */
async function expectGuarded(ask: (key: string) => unknown, admin: boolean): Promise<void> {
  for (const key of ["", "nobody"]) {
    const error = await caught(() => ask(key));
    expect(error.code).toBe(Code.Unauthenticated);
    expectInfo(error, "invalid_api_key", 401);
  }
  if (!admin) return;
  const error = await caught(() => ask(KEYS.caller));
  expect(error.code).toBe(Code.PermissionDenied);
  expectInfo(error, "model_not_allowed", 403);
}

export const listBenchesContract: MethodContract = {
  method: HealthStateService.method.listBenches,
  cases: [
    {
      title: "answers with all benches in force",
      run: async (clients) => {
        expect(await list(clients)).toEqual([]);
        const made = await bench(clients, FRAGILE);
        const [one, ...more] = await list(clients);
        expect([one?.key, one?.reason, more]).toEqual([made?.key, BenchReason.MANUAL, []]);
        await unbench(clients, FRAGILE);
        expect(await list(clients)).toEqual([]);
      },
    },
    { title: "needs a known key", run: (clients) => expectGuarded((key) => list(clients, key), false) },
  ],
};

export const watchBenchesContract: MethodContract = {
  method: HealthStateService.method.watchBenches,
  cases: [
    {
      title: "sends all benches in force, then every change, until the caller leaves",
      run: async (clients) => {
        await bench(clients, scopeOf("chat", "b/m-b"));
        const call = as(KEYS.caller);
        const updates = readStream<WatchBenchesResponse>(
          (sink) => clients.health.watchBenches(create(WatchBenchesRequestSchema), sink, call),
          { onLeave: () => call.cancel() },
        );
        const first = (await updates.next()).value?.update;
        expect(first).toMatchObject({ case: "state", value: { benches: [{ reason: BenchReason.MANUAL }] } });
        const made = await bench(clients, FRAGILE);
        const second = (await updates.next()).value?.update;
        expect(second).toMatchObject({
          case: "change",
          value: { scopes: [{ key: made?.key, manual: { key: made?.key } }] },
        });
        await unbench(clients, FRAGILE);
        const third = (await updates.next()).value?.update;
        expect(third).toMatchObject({
          case: "change",
          value: { scopes: [{ key: made?.key }] },
        });
        expect(third?.case === "change" && third.value.scopes[0]?.manual).toBeUndefined();
        await updates.return(undefined);
        await unbench(clients, scopeOf("chat", "b/m-b"));
      },
    },
    {
      title: "needs a known key",
      run: (clients) =>
        expectGuarded(async (key) => {
          const request = create(WatchBenchesRequestSchema);
          const call = as(key);
          const updates = readStream<WatchBenchesResponse>(
            (sink) => clients.health.watchBenches(request, sink, call),
            { onLeave: () => call.cancel() },
          );
          await updates.next();
          await updates.return(undefined);
        }, false),
    },
  ],
};

export const benchContract: MethodContract = {
  method: HealthStateService.method.bench,
  cases: [
    {
      title: "benches a deployment, a model or a provider, and routers skip it",
      run: async (clients) => {
        const scopes: Scope[] = [
          FRAGILE,
          { target: { case: "model", value: { provider: "A", model: "m-a" } } },
          { target: { case: "provider", value: "A" } },
        ];
        for (const scope of scopes) {
          expect(await chosen(clients, "fragile")).toBe("a/m-a");
          const made = await bench(clients, scope);
          expect(made).toMatchObject({ reason: BenchReason.MANUAL, by: "boss", group: "" });
          expect(made?.remaining === undefined ? 0 : durationMs(made.remaining)).toBe(60_000);
          await eventually(async () => expect(await chosen(clients, "fragile")).toBe("b/m-b"), { every: 2 });
          expect(await unbench(clients, scope)).toBe(true);
          await eventually(async () => expect(await chosen(clients, "fragile")).toBe("a/m-a"), { every: 2 });
        }
      },
    },
    {
      title: "needs an admin's key",
      run: (clients) => expectGuarded((key) => bench(clients, FRAGILE, key), true),
    },
    {
      title: "a broken rule of the schema is named by its field",
      on: "wire",
      run: async ({ health }) => {
        const broken: [MessageInitShape<typeof BenchRequestSchema>, string][] = [
          [{ duration: MINUTE }, "scope"],
          [{ scope: {}, duration: MINUTE }, "scope.target"],
          [{ scope: scopeOf("", "d"), duration: MINUTE }, "scope.deployment.group"],
          [{ scope: FRAGILE }, "duration"],
          [{ scope: FRAGILE, duration: {} }, "duration"],
          [{ scope: FRAGILE, duration: { seconds: 2_592_001n } }, "duration"],
        ];
        for (const [init, field] of broken) {
          const error = await caught(() => health.bench(create(BenchRequestSchema, init), as(KEYS.boss)));
          expect([error.code, error.rawMessage]).toEqual([
            Code.InvalidArgument,
            expect.stringContaining(field),
          ]);
          expectInfo(error, "invalid_request", 400);
        }
      },
    },
  ],
};

export const unbenchContract: MethodContract = {
  method: HealthStateService.method.unbench,
  cases: [
    {
      title: "says whether something was benched",
      run: async (clients) => {
        await bench(clients, FRAGILE);
        expect([await unbench(clients, FRAGILE), await unbench(clients, FRAGILE)]).toEqual([true, false]);
      },
    },
    {
      title: "needs an admin's key",
      run: (clients) => expectGuarded((key) => unbench(clients, FRAGILE, key), true),
    },
    {
      title: "needs a scope",
      on: "wire",
      run: async ({ health }) => {
        for (const init of [{}, { scope: {} }]) {
          const error = await caught(() => health.unbench(create(UnbenchRequestSchema, init), as(KEYS.boss)));
          expect([error.code, error.rawMessage]).toEqual([
            Code.InvalidArgument,
            expect.stringContaining("scope"),
          ]);
        }
      },
    },
  ],
};

const failedNow = (decisionId: string, group = "default/fragile") => ({
  decisionId,
  group,
  deployment: "a/m-a",
  error: ErrorClass.SERVER_ERROR,
  status: 500,
  endedAtMs: BigInt(Date.now()),
});

export const reportOutcomesContract: MethodContract = {
  method: HealthStateService.method.reportOutcomes,
  cases: [
    {
      title: "B1: a caller that makes the calls itself tells how they ended, and routers skip what failed",
      run: async (clients) => {
        // The benches of the cases before reach the routers on their own time, and so does their end.
        await eventually(async () => expect(await chosen(clients, "fragile")).toBe("a/m-a"), { every: 2 });
        expect(await report(clients, [failedNow("d1")])).toBe(1);
        const [made] = await list(clients);
        expect(made).toMatchObject({ reason: BenchReason.FAILURES, group: "default/fragile" });
        await eventually(async () => expect(await chosen(clients, "fragile")).toBe("b/m-b"), { every: 2 });
        await unbench(clients, FRAGILE);
        await eventually(async () => expect(await chosen(clients, "fragile")).toBe("a/m-a"), { every: 2 });
      },
    },
    {
      title: "outcomes of groups that the key may not call are left out",
      run: async (clients) => {
        const foreign = [failedNow("d2"), failedNow("d3", "other/fragile"), failedNow("d4", "fragile")];
        expect(await report(clients, foreign, KEYS.narrow)).toBe(0);
        expect(await list(clients)).toEqual([]);
      },
    },
    {
      title: "an end in the future is no longer bench",
      run: async (clients) => {
        await report(clients, [{ ...failedNow("d5"), endedAtMs: BigInt(Date.now() + 1e9) }]);
        const [made] = await list(clients);
        expect(made?.remaining === undefined ? 0 : durationMs(made.remaining)).toBeLessThanOrEqual(60_000);
        await unbench(clients, FRAGILE);
        await eventually(async () => expect(await chosen(clients, "fragile")).toBe("a/m-a"), { every: 2 });
      },
    },
    {
      title: "needs a known key",
      run: (clients) => expectGuarded((key) => report(clients, [failedNow("d6")], key), false),
    },
    {
      title: "a broken rule of the schema is named by its field",
      on: "wire",
      run: async (clients) => {
        const many = Array.from({ length: 1025 }, () => failedNow("d"));
        const broken: [object[], string][] = [
          [[], "outcomes"],
          [many, "outcomes"],
          [[{ ...failedNow("x".repeat(65)) }], "outcomes[0].decision_id"],
        ];
        for (const [outcomes, field] of broken) {
          const error = await caught(() => report(clients, outcomes));
          expect(error).toBeInstanceOf(ConnectError);
          expect([error.code, error.rawMessage]).toEqual([
            Code.InvalidArgument,
            expect.stringContaining(field),
          ]);
        }
      },
    },
  ],
};

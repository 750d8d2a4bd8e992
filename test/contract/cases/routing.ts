import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { Endpoint } from "@switchyard/proto/config/v1/config";
import { ErrorClass } from "@switchyard/proto/config/v1/policy";
import {
  DecideRequestSchema,
  ExplainRequestSchema,
  ListGroupsRequestSchema,
  RoutingService,
} from "@switchyard/proto/routing/v1/routing_service";
import type { DecideResponse } from "@switchyard/proto/routing/v1/routing_service";
import { UnbenchRequestSchema } from "@switchyard/proto/health/v1/health_state_service";
import { Code } from "@switchyard/rpc";
import { eventually } from "@switchyard/testkit";
import { expect } from "vitest";
import { as, caught, expectInfo } from "../contract-case.ts";
import type { MethodContract } from "../contract-case.ts";
import { KEYS } from "../stage.ts";
import type { Clients } from "../transports.ts";

const FACTS = { id: "r1", endpoint: Endpoint.CHAT, path: "/v1/chat/completions", model: "chat" };
const FAILED = { error: ErrorClass.SERVER_ERROR, status: 500, durationMs: 5n };

interface Asked {
  readonly facts?: object;
  readonly continuation?: Uint8Array;
  readonly failed?: object;
  readonly outcomes?: object[];
  readonly explain?: boolean;
}

async function decide({ routing }: Clients, asked: Asked = {}, key = KEYS.caller): Promise<DecideResponse> {
  const { facts, ...rest } = asked;
  return routing.decide(create(DecideRequestSchema, { facts: { ...FACTS, ...facts }, ...rest }), as(key));
}

const deploymentOf = ({ decision }: DecideResponse): string | undefined =>
  decision.case === "attempt" ? decision.value.deployment : decision.case;

const refusalOf = ({ decision }: DecideResponse): readonly unknown[] =>
  decision.case === "refusal" ? [decision.value.status, decision.value.code] : [decision.case];

export const decideContract: MethodContract = {
  method: RoutingService.method.decide,
  cases: [
    {
      title: "says what to attempt, when, within which times and at which price",
      run: async (clients) => {
        const decided = await decide(clients);
        expect(decided).toMatchObject({
          configRevision: 1n,
          keyName: "caller",
          team: "red",
          lastOutcome: "",
        });
        expect(decided.explanation).toBeUndefined();
        expect(decided.continuation.length).toBeGreaterThan(16);
        expect(decided.decision.value).toMatchObject({
          group: "chat",
          project: "default",
          deployment: "a/m-a",
          provider: "a",
          model: "m-a",
          next: "b/m-b",
          step: "pick",
          strategy: "weighted",
          price: { input: 1, output: 2 },
        });
      },
    },
    {
      title: "R8: explains when it is asked to",
      run: async (clients) => {
        const { explanation } = await decide(clients, { explain: true });
        const candidates = explanation?.groups[0]?.candidates.map(({ deployment, verdict }) => [
          deployment,
          verdict,
        ]);
        expect(candidates).toContainEqual(["a/m-a", "chosen"]);
      },
    },
    {
      title: "R1: no key and an unknown one are refused as an answer",
      run: async (clients) => {
        for (const key of ["", "nobody"]) {
          const refused = await decide(clients, {}, key);
          expect(refusalOf(refused)).toEqual([401, "invalid_api_key"]);
          expect([refused.keyName, refused.continuation.length]).toEqual(["", 0]);
        }
      },
    },
    {
      title: "R2: a group that the key may not call is refused as one that does not exist",
      run: async (clients) => {
        for (const model of ["solo", "nowhere"]) {
          expect(refusalOf(await decide(clients, { facts: { model } }, KEYS.narrow))).toEqual([
            403,
            "model_not_allowed",
          ]);
        }
      },
    },
    {
      title: "a native endpoint is decided by its path, and once",
      run: async (clients) => {
        const native = { endpoint: Endpoint.NATIVE, path: "/v1/systemone" };
        const first = await decide(clients, { facts: native });
        expect(deploymentOf(first)).toBe("a/m-a");
        const next = { facts: native, continuation: first.continuation, failed: FAILED };
        expect(refusalOf(await decide(clients, next))).toEqual([502, "upstream_unreachable"]);
        const elsewhere = await decide(clients, { facts: { ...native, path: "/v1/elsewhere" } });
        expect(refusalOf(elsewhere)).toEqual([400, "endpoint_not_supported"]);
        const nowhere = await decide(clients, { facts: { ...native, path: "/v1/nowhere" } });
        expect(refusalOf(nowhere)).toEqual([404, "not_found"]);
      },
    },
    {
      title:
        "E3, E7: a caller that makes the calls itself goes on from failure to failure until it is refused",
      run: async (clients) => {
        const first = await decide(clients);
        const second = await decide(clients, { continuation: first.continuation, failed: FAILED });
        expect([deploymentOf(second), second.lastOutcome]).toEqual(["b/m-b", "retryable"]);
        expect(second.decision.value).toMatchObject({ step: "failover", next: "" });
        const third = await decide(clients, { continuation: second.continuation, failed: FAILED });
        expect(third.decision).toMatchObject({ case: "refusal", value: { exhausted: true } });
        expect(third.continuation).toHaveLength(0);
      },
    },
    {
      title:
        "a continuation that was changed, cut, invented or given to another caller is no answer but an error",
      run: async (clients) => {
        const { continuation } = await decide(clients);
        const changed = continuation.slice();
        changed[10] = (changed[10] ?? 0) ^ 1;
        const forged = [changed, continuation.slice(0, -1), new Uint8Array([1, 2, 3])];
        for (const one of forged) {
          const error = await caught(() => decide(clients, { continuation: one, failed: FAILED }));
          expect([error.code, error.rawMessage]).toEqual([
            Code.InvalidArgument,
            expect.stringContaining("continuation"),
          ]);
          expectInfo(error, "invalid_request", 400);
        }
        const stolen = await caught(() => decide(clients, { continuation, failed: FAILED }, KEYS.narrow));
        expectInfo(stolen, "invalid_request", 400);
      },
    },
    {
      title: "a continuation comes with how its attempt failed",
      run: async (clients) => {
        const { continuation } = await decide(clients);
        const error = await caught(() => decide(clients, { continuation }));
        expect(error.rawMessage).toContain("failed");
        expectInfo(error, "invalid_request", 400);
      },
    },
    {
      title: "B6: outcomes that ride along count at once, from a known key and within its project",
      run: async (clients) => {
        const fragile = { facts: { model: "fragile" } };
        const outcomes = (project: string) => [
          {
            decisionId: randomUUID(),
            group: `${project}/fragile`,
            deployment: "a/m-a",
            error: ErrorClass.SERVER_ERROR,
            endedAtMs: BigInt(Date.now()),
          },
        ];
        await decide(clients, { ...fragile, outcomes: outcomes("default") }, "nobody");
        await decide(clients, { ...fragile, outcomes: outcomes("default") }, "");
        expect(deploymentOf(await decide(clients, { ...fragile, outcomes: outcomes("other") }))).toBe(
          "a/m-a",
        );
        expect(deploymentOf(await decide(clients, { ...fragile, outcomes: outcomes("default") }))).toBe(
          "b/m-b",
        );
        const scope = {
          target: { case: "deployment" as const, value: { group: "fragile", deployment: "a/m-a" } },
        };
        await clients.health.unbench(create(UnbenchRequestSchema, { scope }), as(KEYS.boss));
        await eventually(async () => expect(deploymentOf(await decide(clients, fragile))).toBe("a/m-a"), {
          every: 2,
        });
      },
    },
    {
      title: "a broken rule of the schema is named by its field",
      on: "wire",
      run: async (clients) => {
        const broken: [Asked, string][] = [
          [{ facts: { id: "x".repeat(129) } }, "facts.id"],
          [{ facts: { model: "x".repeat(4097) } }, "facts.model"],
          [{ continuation: new Uint8Array(65_537) }, "continuation"],
          [{ failed: { status: 500 } }, "failed.error"],
          [{ failed: { error: 99 } }, "failed.error"],
        ];
        for (const [asked, field] of broken) {
          const error = await caught(() => decide(clients, asked));
          expect([error.code, error.rawMessage]).toEqual([
            Code.InvalidArgument,
            expect.stringContaining(field),
          ]);
          expectInfo(error, "invalid_request", 400);
        }
        const empty = await caught(() =>
          clients.routing.decide(create(DecideRequestSchema), as(KEYS.caller)),
        );
        expect([empty.code, empty.rawMessage]).toEqual([
          Code.InvalidArgument,
          expect.stringContaining("facts"),
        ]);
      },
    },
    {
      title: "the caller's deadline reaches the handler, and bounds the attempt where the facts name it",
      run: async (clients, stage) => {
        const deadline = Date.now() + 20_000;
        const request = create(DecideRequestSchema, { facts: { ...FACTS, deadlineMs: 20_000n } });
        const { decision } = await clients.routing.decide(request, as(KEYS.caller, deadline));
        expect(Math.abs((stage.decisions.at(-1)?.deadline ?? 0) - deadline)).toBeLessThan(5_000);
        const timeoutMs = decision.case === "attempt" ? decision.value.timeoutMs : 0n;
        expect(timeoutMs).toBe(20_000n);
      },
    },
  ],
};

export const explainContract: MethodContract = {
  method: RoutingService.method.explain,
  cases: [
    {
      title: "R8: decides as Decide does, says why and gives no continuation",
      run: async ({ routing }, stage) => {
        const request = create(ExplainRequestSchema, { facts: FACTS, seed: 7 });
        const { decision } = await routing.explain(request, as(KEYS.caller));
        expect(decision?.decision.value).toMatchObject({ deployment: "a/m-a", step: "pick" });
        expect(decision?.explanation).toMatchObject({ seed: 7, configRevision: 1n });
        expect(decision?.explanation?.steps.length).toBeGreaterThan(0);
        expect(decision?.continuation).toHaveLength(0);
        expect(stage.decisions).toEqual([]);
      },
    },
    {
      title: "R1: an unknown key is refused as an answer",
      run: async ({ routing }) => {
        const { decision } = await routing.explain(
          create(ExplainRequestSchema, { facts: FACTS }),
          as("nobody"),
        );
        expect(decision?.decision.value).toMatchObject({ status: 401, code: "invalid_api_key" });
      },
    },
    {
      title: "needs facts, within their bounds",
      on: "wire",
      run: async ({ routing }) => {
        for (const [init, field] of [
          [{}, "facts"],
          [{ facts: { ownKeyProvider: "x".repeat(129) } }, "facts.own_key_provider"],
        ] as const) {
          const error = await caught(() =>
            routing.explain(create(ExplainRequestSchema, init), as(KEYS.caller)),
          );
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

export const listGroupsContract: MethodContract = {
  method: RoutingService.method.listGroups,
  cases: [
    {
      title: "names the groups of the key, in the order of its grants",
      run: async ({ routing }) => {
        const { groups } = await routing.listGroups(create(ListGroupsRequestSchema), as(KEYS.caller));
        expect(groups.map(({ name, project }) => `${project}/${name}`)).toEqual([
          "default/chat",
          "default/solo",
          "default/fragile",
        ]);
      },
    },
    {
      title: "needs a known key",
      run: async ({ routing }) => {
        for (const key of ["", "nobody"]) {
          const error = await caught(() => routing.listGroups(create(ListGroupsRequestSchema), as(key)));
          expect(error.code).toBe(Code.Unauthenticated);
          expectInfo(error, "invalid_api_key", 401);
        }
      },
    },
  ],
};

import { create, fromBinary } from "@bufbuild/protobuf";
import { createMemoryBus } from "@switchyard/bus";
import { FeedState } from "@switchyard/cluster";
import { decodeConfig, type SecretSource } from "@switchyard/config";
import { Endpoint } from "@switchyard/proto/config/v1/config";
import { ErrorClass } from "@switchyard/proto/config/v1/policy";
import {
  DecideRequestSchema,
  type DecideResponse,
  ExplainRequestSchema,
} from "@switchyard/proto/routing/v1/routing_service";
import { ContinuationSchema } from "@switchyard/proto/routing/v1/continuation";
import { type Call, CallContext, readFailure, type ServiceImpl } from "@switchyard/rpc";
import type { RoutingService } from "@switchyard/proto/routing/v1/routing_service";
import { Metrics, SILENT } from "@switchyard/telemetry";
import { afterEach, describe, expect, it } from "vitest";
import { createRouter, type Router } from "../src/index.ts";

const SECRETS: SecretSource = { env: (name) => name.toLowerCase(), file: () => undefined };
const CONFIG = `
providers:
  - { name: a, family: openai_compatible, base_url: "http://127.0.0.1:1/v1", credential: { env: A } }
  - { name: b, family: openai_compatible, base_url: "http://127.0.0.1:2/v1", credential: { env: B } }
groups:
  - name: g
    deployments: [{ provider: a, model: m, weight: 1 }, { provider: b, model: m, weight: 0 }]
    policy: { zero_weight: standby, retry: { max_retries: 0 } }
keys:
  - { name: k, secret: { env: CK }, groups: [g] }
  - { name: other, secret: { env: OK }, groups: [g] }
`;

const open: Router[] = [];
afterEach(() => {
  for (const router of open.splice(0)) router.close();
});

function start(bus = createMemoryBus()) {
  const feed = new FeedState();
  const use = (text: string, revision: number): void => {
    const { config, faults } = decodeConfig(text);
    if (config === undefined) throw new Error(JSON.stringify(faults));
    feed.replace({ config, revision });
  };
  use(CONFIG, 1);
  const router = createRouter({
    bus,
    config: feed,
    secrets: SECRETS,
    logger: SILENT,
    metrics: new Metrics(),
    now: () => 1_700_000_000_000,
    seed: () => 7,
    name: "r1",
  });
  open.push(router);
  return { routing: router.routing, use };
}

const call = (key: string): Call => new CallContext({ headers: { authorization: `Bearer ${key}` } });

function ask(
  routing: ServiceImpl<typeof RoutingService>,
  more: Partial<Parameters<typeof routing.decide>[0]> = {},
  key = "ck",
): DecideResponse {
  const facts = { id: "req_1", endpoint: Endpoint.CHAT, path: "/v1/chat/completions", model: "g" };
  const answer = routing.decide(create(DecideRequestSchema, { facts, ...more } as never), call(key));
  if (answer instanceof Promise) throw new Error("a decision waits for nobody");
  return answer;
}

const failed = (error: ErrorClass) => ({ error, status: 500, durationMs: 5n }) as never;

function deploymentOf(decided: DecideResponse): string {
  return decided.decision.case === "attempt"
    ? decided.decision.value.deployment
    : (decided.decision.case ?? "");
}

describe("RoutingService.Decide", () => {
  it("E3: answers at once, and goes on with the history that it sealed itself", () => {
    const { routing } = start();
    const first = ask(routing);
    expect(deploymentOf(first)).toBe("a/m");
    const second = ask(routing, {
      continuation: first.continuation,
      failed: failed(ErrorClass.SERVER_ERROR),
    });
    expect(deploymentOf(second)).toBe("b/m");
    expect(second.lastOutcome).toBe("retryable");
    const third = ask(routing, {
      continuation: second.continuation,
      failed: failed(ErrorClass.SERVER_ERROR),
    });
    expect(third.decision.case).toBe("refusal");
    expect(third.decision.case === "refusal" && third.decision.value.exhausted).toBe(true);
  });

  it("takes no history that was changed, cut, invented, or given to another caller", () => {
    const { routing } = start();
    const { continuation } = ask(routing);
    const changed = continuation.slice();
    changed[10] = (changed[10] ?? 0) ^ 1;
    for (const bad of [changed, continuation.slice(0, 20), new Uint8Array([1, 2, 3])]) {
      expect(() => ask(routing, { continuation: bad, failed: failed(ErrorClass.SERVER_ERROR) })).toThrow(
        /continuation/,
      );
    }
    expect(() => ask(routing, { continuation, failed: failed(ErrorClass.SERVER_ERROR) }, "ok")).toThrow(
      /continuation/,
    );
    expect(() => ask(routing, { continuation })).toThrow(/failed/);
  });

  it("hedge: a second attempt is decided beside the first, and both are told of once they have failed", () => {
    const { routing, use } = start();
    use(
      CONFIG.replace("zero_weight: standby", "zero_weight: standby, hedge: { enabled: true, share: 1 }"),
      2,
    );
    const first = ask(routing);
    const hedged = ask(routing, { continuation: first.continuation, hedge: true });
    if (first.decision.case !== "attempt" || hedged.decision.case !== "attempt")
      throw new Error("no attempts");
    expect(first.decision.value).toMatchObject({ deployment: "a/m", hedges: true, hedgeAfterMs: 0n });
    expect(hedged.decision.value).toMatchObject({ deployment: "b/m", step: "hedge" });
    const ended = (decisionId: string) =>
      ({ error: ErrorClass.SERVER_ERROR, status: 500, durationMs: 5n, decisionId }) as never;
    const [one, two] = [first.decision.value.decisionId, hedged.decision.value.decisionId];
    const { continuation } = hedged;
    for (const [last, before] of [
      [one, two],
      [two, one],
    ] as const) {
      const next = ask(routing, { continuation, failed: ended(last), failedBefore: ended(before) });
      expect(next.decision.case === "refusal" && next.decision.value.exhausted).toBe(true);
    }
    for (const bad of [
      { failed: ended(two) },
      { failed: ended(two), failedBefore: ended(two) },
      { failed: ended(one), failedBefore: ended("") },
      { failed: ended(two), failedBefore: ended(one), hedge: true },
    ]) {
      expect(() => ask(routing, { continuation, ...bad })).toThrow(/failed/);
    }
    const again = ask(routing, { continuation, hedge: true });
    expect(again.decision.case === "refusal" && again.decision.value.code).toBe("not_hedged");
    expect(() => ask(routing, { hedge: true })).toThrow(/continuation/);
  });

  it("invariant 9: the continuation names no secret", () => {
    const { routing } = start();
    const { continuation } = ask(routing);
    const known = fromBinary(ContinuationSchema, continuation.slice(0, -16));
    expect(known.keyHash).toMatch(/^[0-9a-f]{64}$/);
    expect(Buffer.from(continuation).includes("Bearer")).toBe(false);
  });

  it("K5: a request finishes on the config it started with", () => {
    const { routing, use } = start();
    const first = ask(routing);
    use(CONFIG.replace(", { provider: b, model: m, weight: 0 }", ""), 2);
    expect(ask(routing).configRevision).toBe(2n);
    const second = ask(routing, {
      continuation: first.continuation,
      failed: failed(ErrorClass.SERVER_ERROR),
    });
    expect(second.configRevision).toBe(1n);
    expect(deploymentOf(second)).toBe("b/m");
  });

  it("B6: outcomes that come with a call count at once, and once", () => {
    const { routing } = start();
    const outcome = (id: string) => ({
      decisionId: id,
      group: "default/g",
      deployment: "a/m",
      error: ErrorClass.SERVER_ERROR,
      endedAtMs: 1_700_000_000_000n,
    });
    const two = [outcome("x1"), outcome("x1"), outcome("x2"), outcome("x2")];
    expect(deploymentOf(ask(routing, { outcomes: two as never }))).toBe("a/m");
    expect(deploymentOf(ask(routing, { outcomes: [outcome("x3")] as never }))).toBe("b/m");
  });

  it("R1: refuses an unknown key as an answer, not as an RPC error", () => {
    const { routing } = start();
    const { decision } = ask(routing, {}, "nobody");
    expect(decision.case === "refusal" && [decision.value.status, decision.value.code]).toEqual([
      401,
      "invalid_api_key",
    ]);
  });

  it("R8: explains on the same path and changes nothing", () => {
    const { routing } = start();
    const facts = { id: "r", endpoint: Endpoint.CHAT, model: "g" };
    const explained = routing.explain(create(ExplainRequestSchema, { facts, seed: 7 }), call("ck"));
    if (explained instanceof Promise) throw new Error("an explanation waits for nobody");
    expect(explained.decision?.explanation?.groups[0]?.candidates.map((one) => one.verdict)).toContain(
      "chosen",
    );
    expect(explained.decision?.continuation).toHaveLength(0);
  });
});

describe("ConfigService", () => {
  it("needs the key of an account admin", () => {
    const feed = new FeedState();
    const router = createRouter({
      bus: createMemoryBus(),
      config: feed,
      secrets: SECRETS,
      logger: SILENT,
      metrics: new Metrics(),
      now: () => 0,
      seed: () => 0,
      name: "r",
    });
    open.push(router);
    const { config } = decodeConfig(CONFIG);
    if (config !== undefined) feed.replace({ config, revision: 1 });
    const statusOf = (key: string): number => {
      try {
        void router.admin.getConfig({ $typeName: "switchyard.admin.v1.GetConfigRequest" }, call(key));
        return 200;
      } catch (error) {
        return readFailure(error).status;
      }
    };
    expect([statusOf("nobody"), statusOf("ck")]).toEqual([401, 403]);
  });
});

import { create, toBinary } from "@bufbuild/protobuf";
import { createMemoryBus, type Bus } from "@switchyard/bus";
import { errorClassToWire, FeedState, loadReportToWire, SUBJECTS } from "@switchyard/cluster";
import { decodeConfig, type SecretSource } from "@switchyard/config";
import { hashKey, type ReportedLoad } from "@switchyard/core";
import { Endpoint } from "@switchyard/proto/config/v1/config";
import { ErrorClass } from "@switchyard/proto/config/v1/policy";
import { LoadReportSchema, OutcomeBatchSchema } from "@switchyard/proto/events/v1/events";
import {
  type Attempt,
  DecideRequestSchema,
  type DecideResponse,
} from "@switchyard/proto/routing/v1/routing_service";
import { CallContext } from "@switchyard/rpc";
import { Metrics, SILENT } from "@switchyard/telemetry";
import { eventually } from "@switchyard/testkit";
import { afterEach, describe, expect, it } from "vitest";
import { createRouter, type Router } from "../src/index.ts";

const SECRETS: SecretSource = { env: (name) => name.toLowerCase(), file: () => undefined };
const NOW = 1_700_000_000_000;

function configOf(policy: string, limits = ""): string {
  return `
providers:
  - { name: a, family: openai_compatible, base_url: "http://127.0.0.1:1/v1", credential: { env: A } }
  - { name: b, family: openai_compatible, base_url: "http://127.0.0.1:2/v1", credential: { env: B } }
groups:
  - name: g
    deployments: [{ provider: a, model: m ${limits} }, { provider: b, model: m }]
    policy: { ${policy}, bench: { failures: 0 } }
keys:
  - { name: k, secret: { env: CK }, groups: [g] }
`;
}

const open: Router[] = [];
afterEach(() => {
  for (const router of open.splice(0)) router.close();
});

function start(text: string) {
  const bus = createMemoryBus();
  const feed = new FeedState();
  const { config, faults } = decodeConfig(text);
  if (config === undefined) throw new Error(JSON.stringify(faults));
  feed.replace({ config, revision: 1 });
  const parts = { bus, config: feed, secrets: SECRETS, logger: SILENT, metrics: new Metrics() };
  let seed = 0;
  const router = createRouter({
    ...parts,
    now: () => NOW,
    seed: () => (seed += 0x9e37_79b9) >>> 0,
    name: "r1",
  });
  open.push(router);
  const ask = (more: object = {}, facts: object = {}): DecideResponse => {
    const asked = { id: "r", endpoint: Endpoint.CHAT, path: "/v1/chat/completions", model: "g", ...facts };
    const request = create(DecideRequestSchema, { facts: asked, reporter: "f1", ...more });
    const call = new CallContext({ headers: { authorization: "Bearer ck" } });
    return router.routing.decide(request, call) as DecideResponse;
  };
  return { bus, ask };
}

function orderOf({ decision }: DecideResponse): Attempt {
  if (decision.case !== "attempt") throw new Error(JSON.stringify(decision.value?.code));
  return decision.value;
}

let sequence = 0;
function report(bus: Bus, load: string, more: Partial<ReportedLoad>): void {
  sequence += 1;
  const one: ReportedLoad = {
    load,
    inFlight: 0,
    minute: Math.floor(NOW / 60_000),
    requests: 0,
    tokens: 0,
    measured: 0,
    firstTokenMs: 0,
    streamedTokens: 0,
    streamedMs: 0,
    ...more,
  };
  const wire = loadReportToWire({ reporter: "f2", sequence, deployments: [one] });
  bus.publish(SUBJECTS.loadOf("f2"), toBinary(LoadReportSchema, wire));
}

describe("load", () => {
  it("S7: what was just decided counts before anybody reports it", () => {
    const { ask } = start(configOf("strategy: least_busy"));
    const taken = Array.from({ length: 10 }, () => orderOf(ask()).deployment);
    expect(taken.filter((one) => one === "a/m")).toHaveLength(5);
  });

  it("S3: what forwarders report counts, until they leave", async () => {
    const { bus, ask } = start(configOf("strategy: least_busy"));
    report(bus, "m:a/m", { inFlight: 100 });
    await eventually(() => {
      const taken = Array.from({ length: 6 }, () => orderOf(ask()).deployment);
      expect(new Set(taken)).toEqual(new Set(["b/m"]));
    });
    const goodbye = create(LoadReportSchema, { reporter: "f2", leaving: true });
    bus.publish(SUBJECTS.loadOf("f2"), toBinary(LoadReportSchema, goodbye));
    await eventually(() => expect(orderOf(ask()).deployment).toBe("a/m"));
  });

  it("BH-09: an outcome from the bus ends the call that it quotes", async () => {
    const { bus, ask } = start(configOf("strategy: least_busy"));
    const first = orderOf(ask());
    const other = first.deployment === "a/m" ? "b/m" : "a/m";
    expect(orderOf(ask()).deployment).toBe(other);
    const outcome = {
      decisionId: first.decisionId,
      group: "default/g",
      deployment: first.deployment,
      error: errorClassToWire("server_error"),
      endedAtMs: BigInt(NOW),
    };
    const batch = create(OutcomeBatchSchema, { forwarder: "f1", outcomes: [outcome] as never });
    bus.publish(SUBJECTS.outcomesOf("f1"), toBinary(OutcomeBatchSchema, batch));
    // Delivered in order: once this report is in, the outcome before it is as well.
    report(bus, "m:nobody/m", { inFlight: 1 });
    await new Promise((resolve) => setImmediate(resolve));
    expect(orderOf(ask()).deployment).toBe(first.deployment);
  });

  it("S5: a deployment at its limit is skipped, its tokens are asked to be counted", () => {
    const { ask } = start(configOf("zero_weight: off", ", limits: { tpm: 2500 }"));
    const orders = Array.from({ length: 8 }, () =>
      orderOf(ask({}, { bodyBytes: 800n, maxOutputTokens: 1_000n })),
    );
    expect(orders.filter(({ deployment }) => deployment === "a/m")).toHaveLength(2);
    for (const { deployment, countsTokens } of orders) expect(countsTokens).toBe(deployment === "a/m");
  });

  it("F1, H4: a hash places a request, and the decision names the kind of its key", () => {
    const { ask } = start(configOf("affinity: { by: session }"));
    const placeOf = (name: string): Attempt => orderOf(ask({}, { affinity: { session: hashKey(name) } }));
    for (const name of ["s1", "s2", "s3"]) {
      expect(placeOf(name).deployment).toBe(placeOf(name).deployment);
      expect(placeOf(name).affinity).toBe("session");
    }
    const expression = 'request.headers.get("x-t")';
    const by = start(configOf(`affinity: { by: expression, expression: '${expression}' }`));
    const hashes = { affinity: { expressions: { [expression]: hashKey("t") } } };
    expect(orderOf(by.ask({}, hashes)).affinity).toBe("expression");
    expect(orderOf(by.ask()).affinity).toBe("");
  });

  it("retry.budget: what is spent refuses the next call", () => {
    const { ask } = start(configOf("retry: { max_retries: 0, budget: { share: 0.5, per_second: 0 } }"));
    const failed = { error: ErrorClass.SERVER_ERROR, status: 500, durationMs: 5n };
    const again = (first: DecideResponse) => ask({ continuation: first.continuation, failed }).decision.case;
    const outcomes = Array.from({ length: 4 }, () => again(ask()));
    expect(outcomes).toEqual(["refusal", "attempt", "refusal", "attempt"]);
  });
});

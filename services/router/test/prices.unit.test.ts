import { create, toBinary } from "@bufbuild/protobuf";
import { createMemoryBus } from "@switchyard/bus";
import { FeedState, SUBJECTS } from "@switchyard/cluster";
import { decodeConfig } from "@switchyard/config";
import { parseLine } from "@switchyard/core";
import { Endpoint } from "@switchyard/proto/config/v1/config";
import { UsageBatchSchema } from "@switchyard/proto/events/v1/events";
import { DecideRequestSchema, type DecideResponse } from "@switchyard/proto/routing/v1/routing_service";
import { CallContext } from "@switchyard/rpc";
import { Metrics, SILENT } from "@switchyard/telemetry";
import { eventually } from "@switchyard/testkit";
import { expect, it, onTestFinished } from "vitest";
import { createRouter } from "../src/index.ts";

const PRICE = { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75, audioInput: 40, audioOutput: 0 };
const CONFIG = `
providers:
  - { name: a, family: openai_compatible, base_url: "http://127.0.0.1:1/v1", credential: { env: A } }
groups:
  - name: g
    deployments: [{ provider: a, model: m, price: ${JSON.stringify(PRICE)} }]
keys:
  - { name: k, secret: { env: CK }, groups: [g] }
`;

function start() {
  const bus = createMemoryBus();
  const feed = new FeedState();
  const { config, faults } = decodeConfig(CONFIG);
  if (config === undefined) throw new Error(JSON.stringify(faults));
  feed.replace({ config, revision: 1 });
  const lines: string[] = [];
  const router = createRouter({
    bus,
    config: feed,
    secrets: { env: (name) => name.toLowerCase(), file: () => undefined },
    logger: SILENT,
    metrics: new Metrics(),
    now: () => 1_700_000_000_000,
    seed: () => 7,
    name: "r1",
    decisionLog: { write: (line) => lines.push(line) },
  });
  onTestFinished(() => router.close());
  const facts = { id: "req_1", endpoint: Endpoint.CHAT, path: "/v1/chat/completions", model: "g" };
  const call = new CallContext({ headers: { authorization: "Bearer ck" } });
  const decided = router.routing.decide(create(DecideRequestSchema, { facts }), call) as DecideResponse;
  return { bus, lines, decided };
}

it("tells an attempt the price of each kind of token", () => {
  expect(start().decided.decision).toMatchObject({ case: "attempt", value: { price: PRICE } });
});

it("its log keeps the price and each kind of token that was used, of none the name", async () => {
  const { bus, lines } = start();
  const usage = { input: 100n, output: 50n, cached: 40n, cacheWritten: 5n, audioInput: 20n, reasoning: 10n };
  const events = [{ requestId: "req_1", usage, costUsd: 0.25 }];
  bus.publish(SUBJECTS.usageOf("f1"), toBinary(UsageBatchSchema, create(UsageBatchSchema, { events })));
  await eventually(() => expect(lines).toHaveLength(2));
  const [decision, outcome] = lines.map(parseLine);
  expect(decision).toMatchObject({ taken: { price: PRICE } });
  expect(outcome).toMatchObject({ kind: "outcome", costUsd: 0.25 });
  expect(outcome?.kind === "outcome" && outcome.usage).toStrictEqual({
    input: 100,
    output: 50,
    cached: 40,
    cacheWritten: 5,
    audioInput: 20,
    reasoning: 10,
  });
});

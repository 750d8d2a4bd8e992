import { create } from "@bufbuild/protobuf";
import { createMemoryBus } from "@switchyard/bus";
import { FeedState } from "@switchyard/cluster";
import { decodeConfig } from "@switchyard/config";
import { Endpoint } from "@switchyard/proto/config/v1/config";
import { DecideRequestSchema, type DecideResponse } from "@switchyard/proto/routing/v1/routing_service";
import { CallContext } from "@switchyard/rpc";
import { Metrics, SILENT } from "@switchyard/telemetry";
import { afterEach, expect, it } from "vitest";
import { createRouter, type Router } from "../src/index.ts";

const CONFIG = `
providers:
  - { name: Keep-A, family: openai, credential: { env: A } }
  - { name: keep-b, family: azure_openai, base_url: "https://r", credential: { env: B } }
  - { name: chat, family: openai_compatible, base_url: "http://127.0.0.1:1/v1", credential: { env: B } }
groups:
  - name: g
    deployments: [{ provider: keep-a, model: m }, { provider: keep-b, model: m }, { provider: chat, model: m }]
  - name: one
    deployments: [{ provider: keep-a, model: m }]
keys:
  - { name: k, secret: { env: CK }, groups: [g, one] }
`;

const open: Router[] = [];
afterEach(() => {
  for (const router of open.splice(0)) router.close();
});

type Facts = NonNullable<Parameters<typeof create<typeof DecideRequestSchema>>[1]>["facts"];

async function decide(facts: Facts): Promise<DecideResponse["decision"]> {
  const feed = new FeedState();
  const { config, faults } = decodeConfig(CONFIG);
  if (config === undefined) throw new Error(JSON.stringify(faults));
  feed.replace({ config, revision: 1 });
  const router = createRouter({
    bus: createMemoryBus(),
    config: feed,
    secrets: { env: (name) => name.toLowerCase(), file: () => undefined },
    logger: SILENT,
    metrics: new Metrics(),
    now: () => 1_700_000_000_000,
    seed: () => 7,
    name: "r1",
  });
  open.push(router);
  const request = create(DecideRequestSchema, {
    facts: { id: "req_1", endpoint: Endpoint.RESPONSES, path: "/v1/responses", ...facts },
  });
  const call = new CallContext({ headers: { authorization: "Bearer ck" } });
  return (await router.routing.decide(request, call)).decision;
}

const kept = (provider: string): object => ({ provider, groupKey: "default/g", servedBy: "default/g" });

it("P8: a stored response is read at the account that keeps it, and says so on the wire", async () => {
  for (const provider of ["keep-a", "KEEP-B"]) {
    const decision = await decide({ kept: kept(provider) });
    expect(decision.value).toMatchObject({ provider: provider.toLowerCase(), askedGroupKey: "default/g" });
  }
});

it("P8: nobody remembers it: refused where two may keep it", async () => {
  const decision = await decide({ model: "g", kept: { provider: "" } });
  expect(decision.value).toMatchObject({ status: 400, code: "stored_response_not_routable" });
  expect((await decide({ model: "one", kept: { provider: "" } })).value).toMatchObject({
    provider: "keep-a",
  });
});

it("P8: an answer that is to be kept goes to one that keeps it", async () => {
  const decision = await decide({ model: "g", store: true });
  expect(["keep-a", "keep-b"]).toContain((decision.value as { provider: string }).provider);
});

it("BH-31: origins lead, and an attempt says whether other accounts serve its group", async () => {
  expect((await decide({ model: "g", originProvider: "keep-b" })).value).toMatchObject({
    provider: "keep-b",
    shared: true,
  });
  expect((await decide({ model: "one" })).value).toMatchObject({ provider: "keep-a", shared: false });
});

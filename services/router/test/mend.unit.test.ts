import { create } from "@bufbuild/protobuf";
import { createMemoryBus } from "@switchyard/bus";
import { BUCKETS, createStoreFeed } from "@switchyard/cluster";
import { decodeConfig } from "@switchyard/config";
import { ApplyConfigRequestSchema } from "@switchyard/proto/admin/v1/config_service";
import { CallContext } from "@switchyard/rpc";
import { Metrics, SILENT } from "@switchyard/telemetry";
import { comesTrue } from "@switchyard/testkit";
import { expect, it, onTestFinished } from "vitest";
import { createRouter } from "../src/index.ts";

const CONFIG = `
providers: [{ name: a, family: openai_compatible, base_url: "http://127.0.0.1:1/v1", credential: { none: true } }]
groups: [{ name: g, deployments: [{ provider: a, model: m }] }]
keys: [{ name: boss, secret: { env: BOSS }, groups: [g], roles: [account_admin] }]
`;

it("invariant 10: applying the config in force again mends a store whose config is refused", async () => {
  const bus = createMemoryBus();
  const store = bus.keyValue(BUCKETS.config);
  const { config } = decodeConfig(CONFIG);
  const now = (): number => 1_700_000_000_000;
  const feed = createStoreFeed({
    store,
    seed: config,
    now,
    report: () => {},
    faultsOf: () => [],
    writes: true,
  });
  await feed.ready(3_000);
  const router = createRouter({
    bus,
    config: feed,
    writable: feed,
    secrets: { env: (name) => name.toLowerCase(), file: () => undefined },
    logger: SILENT,
    metrics: new Metrics(),
    now,
    seed: () => 7,
    name: "r1",
  });
  onTestFinished(() => {
    router.close();
    feed.close();
  });
  const apply = async () =>
    await router.admin.applyConfig(
      create(ApplyConfigRequestSchema, config === undefined ? {} : { config }),
      new CallContext({ headers: { authorization: "Bearer boss" } }),
    );
  expect(await apply()).toMatchObject({ revision: 1n, changes: [] });
  await store.put("current", Uint8Array.of(1, 2, 3));
  await comesTrue(() => feed.refusesStored);
  expect(await apply()).toMatchObject({ revision: 2n, changes: [] });
  expect(feed.refusesStored).toBe(false);
});

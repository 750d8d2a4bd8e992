import { create } from "@bufbuild/protobuf";
import { AttemptSchema } from "@switchyard/proto/routing/v1/routing_service";
import { Metrics } from "@switchyard/telemetry";
import { describe, expect, it } from "vitest";
import { countUsage, usageEvent } from "../src/report/usage-record.ts";

const order = create(AttemptSchema, { groupKey: "default/g", group: "g", deployment: "a/m" });
const usage = { input: 11, output: 19, total: 30, cached: 4, reasoning: 0 };

describe("BH-14: what an answer used", () => {
  it("is told to ledgers and counted once, by the config's names", async () => {
    const event = usageEvent("req_1", order, undefined, { usage, model: "m-2026" }, 0.5);
    expect(event?.model).toBe("m-2026");
    const metrics = new Metrics();
    if (event !== undefined) countUsage(metrics, "g", event);
    const { body } = await metrics.render();
    expect(body).toContain('switchyard_tokens_total{group="g",deployment="a/m",key="",kind="input"} 11');
    expect(body).toContain('switchyard_tokens_total{group="g",deployment="a/m",key="",kind="output"} 19');
    expect(body).toContain('switchyard_tokens_total{group="g",deployment="a/m",key="",kind="cached"} 4');
    expect(body).toContain('switchyard_cost_usd_total{group="g",deployment="a/m",key=""} 0.5');
    expect(body).not.toContain('kind="reasoning"');
  });

  it("each kind of token is told and counted apart", async () => {
    const parts = { cached: 1, cacheWritten: 2, audioInput: 3, reasoning: 4, audioOutput: 5 };
    const facts = { usage: { input: 11, output: 19, total: 30, ...parts }, model: "m" };
    const event = usageEvent("req_1", order, undefined, facts, undefined);
    expect(event?.usage).toMatchObject({
      input: 11n,
      output: 19n,
      cached: 1n,
      cacheWritten: 2n,
      audioInput: 3n,
      reasoning: 4n,
      audioOutput: 5n,
    });
    const metrics = new Metrics();
    if (event !== undefined) countUsage(metrics, "g", event);
    const { body } = await metrics.render();
    const counted = body.matchAll(/^switchyard_tokens_total\{.*kind="(?<kind>\w+)"\} (?<tokens>\d+)$/gmu);
    const kinds = [...counted].map(({ groups }) => `${groups?.["kind"]} ${groups?.["tokens"]}`);
    expect(kinds).toEqual([
      "input 11",
      "output 19",
      "cached 1",
      "cache_written 2",
      "audio_input 3",
      "reasoning 4",
      "audio_output 5",
    ]);
  });

  it("is nothing where the provider told nothing", () => {
    expect(
      usageEvent("req_1", order, undefined, { usage: undefined, model: undefined }, undefined),
    ).toBeUndefined();
  });
});

import Anthropic, { NotFoundError } from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { expect, it } from "vitest";
import { forEachForm } from "../support/gateway-stage.ts";
import type { Scene } from "../support/gateway-scene.ts";

const VERSION = { "anthropic-version": "2023-06-01" };

/** A key that may call 23 groups, more than a page of Anthropic's. */
const MANY = Object.fromEntries(
  Array.from({ length: 22 }, (_, place) => [`claude-${place}`, { order: ["A"] as const }]),
);

const anthropic = ({ http, key }: Scene): Anthropic => new Anthropic({ baseURL: http, apiKey: key });
const openai = ({ http, key }: Scene): OpenAI => new OpenAI({ baseURL: `${http}/v1`, apiKey: key });

async function idsOf(list: AsyncIterable<{ readonly id: string }>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of list) ids.push(id);
  return ids;
}

forEachForm("the list of models", {}, (stage) => {
  it.concurrent("field 5.3: each vendor's SDK reads all of it, and one by its name", async () => {
    await using scene = await stage.scene({ order: ["A"], groups: MANY });
    const ids = await idsOf(openai(scene).models.list());
    expect(ids).toHaveLength(23);
    expect(ids).toContain(scene.group);
    expect(await idsOf(anthropic(scene).models.list())).toEqual(ids);
    expect(await idsOf(anthropic(scene).models.list({ limit: 7 }))).toEqual(ids);
    const backwards = anthropic(scene).models.list({ limit: 7, before_id: ids[20] as string });
    expect((await idsOf(backwards)).toSorted()).toEqual(ids.slice(0, 20).toSorted());
    expect(await anthropic(scene).models.retrieve(scene.group)).toMatchObject({
      type: "model",
      id: scene.group,
      display_name: scene.group,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
    });
    expect(await openai(scene).models.retrieve(scene.group)).toMatchObject({
      object: "model",
      id: scene.group,
    });
  });

  it.concurrent("field 5.7: Claude Code's discovery, by both of its headers for keys", async () => {
    await using scene = await stage.scene({ order: ["A"], groups: MANY });
    const headers = { "x-api-key": scene.key, ...VERSION };
    const all = await scene.get("/v1/models?limit=1000", headers);
    const list = all.json() as { data: { id: string; type: string }[]; [key: string]: unknown };
    expect(list.data).toHaveLength(23);
    expect(list).toMatchObject({
      has_more: false,
      first_id: list.data[0]?.id,
      last_id: list.data[22]?.id,
      data: list.data.map(({ id }) => ({ type: "model", id, display_name: id })),
    });
    const plain = (await scene.get("/v1/models?limit=1000")).json() as { object: string; data: unknown[] };
    expect([plain.object, plain.data.length]).toEqual(["list", 23]);
  });

  it.concurrent("H3: refusals have the shape that the caller reads", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    const unknown = await anthropic(scene)
      .models.retrieve("nothing")
      .catch((error: unknown) => error);
    expect(unknown).toBeInstanceOf(NotFoundError);
    expect((await scene.get("/v1/models/nothing", VERSION)).json()).toMatchObject({
      type: "error",
      error: { type: "not_found_error" },
    });
    expect((await scene.get("/v1/models", { ...VERSION, authorization: "Bearer no" })).json()).toMatchObject({
      type: "error",
      error: { type: "authentication_error" },
    });
    expect((await scene.get("/v1/models/nothing")).error).toMatchObject({ type: "invalid_request_error" });
  });
});

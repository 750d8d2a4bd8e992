import { describe, expect, it } from "vitest";
import { BROKEN, eventually, failure, OK } from "@switchyard/testkit";
import type { GatewayClient } from "../../support/gateway-client.ts";
import type { SceneSpec } from "../../support/gateway-scene.ts";
import { forEachForm } from "../../support/gateway-stage.ts";
import type { Stage } from "../../support/gateway-stage.ts";
import { ALL, askAt, callsSince, named, PAIR, serve } from "../support/calls.ts";

const LIST: SceneSpec = { preset: "sticky_list", pool: ALL };
const ANTHROPIC = { family: "anthropic" };
const OPENAI = { family: "openai" };

/** What served each of that many requests, one after another. */
async function turns(caller: GatewayClient, count: number): Promise<string> {
  return (await serve(caller, count)).map(({ content }) => content).join("");
}

/** Any part of going through the list in its order. */
function isInOrder(served: string): boolean {
  return "ABCABCABCABCABCABC".includes(served);
}

const roundRobin = (stage: Stage): unknown =>
  describe("round robin", () => {
    it.concurrent("S6 'round-robin cycles through the list in order', which is the default strategy", async () => {
      await using scene = await stage.scene(LIST);
      named(scene);
      expect(await turns(scene, 9)).toSatisfy(isInOrder);
    });

    it.concurrent("S6 'gives every model in the list an equal share of requests'", async () => {
      await using scene = await stage.scene(LIST);
      await serve(scene, 30);
      expect(scene.counts).toEqual({ A: 10, B: 10, C: 10 });
    });

    it.concurrent("S6 'a separate place in the list for each app': a busy one does not skew a quiet one's", async () => {
      await using scene = await stage.scene({ ...LIST, callers: [{}, {}] });
      named(scene);
      const [busy, quiet] = [scene.caller(0), scene.caller(1)];
      let served = "";
      for (let turn = 0; turn < 6; turn += 1) {
        served += await turns(quiet, 1);
        await serve(busy, turn);
      }
      expect(served).toSatisfy(isInOrder);
    });

    it.concurrent("S6 'starting from a random point'", async () => {
      await using scene = await stage.scene({ ...LIST, callers: Array.from({ length: 16 }, () => ({})) });
      named(scene);
      const firsts = new Set<string>();
      for (let place = 0; place < 16; place += 1) firsts.add(await turns(scene.caller(place), 1));
      expect(firsts.size).toBeGreaterThan(1);
    });

    it.concurrent("S6 'each gateway instance keeps a separate place', and 'across all instances requests spread evenly'", async () => {
      await using scene = await stage.scene(LIST);
      named(scene);
      let [here, there] = ["", ""];
      for (let turn = 0; turn < 6; turn += 1) {
        here += await turns(scene, 1);
        there += await turns(scene.via(1), 1);
      }
      expect([here, there]).toSatisfy((both: string[]) => both.every(isInOrder));
      expect(scene.counts).toEqual({ A: 4, B: 4, C: 4 });
    });

    it.concurrent("S2 'a retry model: the model the strategy would pick next'", async () => {
      await using scene = await stage.scene({ ...LIST, callers: Array.from({ length: 6 }, () => ({})) });
      named(scene);
      scene.B.answer(BROKEN);
      for (let place = 0; place < 6; place += 1) {
        for (const { attempts } of await serve(scene.caller(place), 3)) {
          const route = attempts.map(({ deployment }) => deployment.at(-1)).join("");
          expect(["A", "C", "BC"]).toContain(route);
        }
      }
      expect(scene.B.calls.length).toBe(6);
    });
  });

const theList = (stage: Stage): unknown =>
  describe("the list", () => {
    it.concurrent("R3 'clients still send a model, but any value works'", async () => {
      await using scene = await stage.scene({ ...LIST, key: { ignore_model: true } });
      for (const model of ["gpt-4o", "whatever/else", ""]) await serve(scene, 1, { model });
      await serve(scene, 1, { model: undefined });
      expect(Object.values(scene.counts).every((calls) => calls > 0)).toBe(true);
    });

    it.concurrent("P1 'sends the policy's choice to the provider in place of the request's model'", async () => {
      await using scene = await stage.scene(LIST);
      await serve(scene, 3);
      for (const name of ALL) expect(scene[name].calls[0]?.json()).toMatchObject({ model: `m-${name}` });
    });

    it.concurrent("R2 'the list also limits which models clients can reach'", async () => {
      await using scene = await stage.scene(LIST);
      const refused = await scene.ask({ model: "up-a/m-A" });
      expect([refused.status, refused.error.code]).toEqual([403, "model_not_allowed"]);
      expect(scene.counts).toEqual({ A: 0, B: 0, C: 0 });
    });

    it.concurrent("R4 'takes the list for the request's type: completions or embeddings'", async () => {
      await using scene = await stage.scene({
        ...LIST,
        deployments: { C: { type: "embedding" }, A: { type: "chat" }, B: { type: "chat" } },
      });
      named(scene);
      for (let count = 0; count < 4; count += 1) expect((await askAt(scene, "embeddings")).status).toBe(200);
      expect(scene.counts).toEqual({ A: 0, B: 0, C: 4 });
      await serve(scene, 4);
      expect(scene.counts).toEqual({ A: 2, B: 2, C: 4 });
    });

    it.concurrent("R5 'drops models that can't serve the endpoint, such as an OpenAI model on /v1/messages'", async () => {
      await using scene = await stage.scene({
        ...LIST,
        providers: { A: ANTHROPIC, B: OPENAI, C: ANTHROPIC },
      });
      named(scene);
      for (let count = 0; count < 4; count += 1) expect((await askAt(scene, "messages")).status).toBe(200);
      expect(scene.counts).toEqual({ A: 2, B: 0, C: 2 });
      for (let count = 0; count < 2; count += 1) expect((await askAt(scene, "responses")).status).toBe(200);
      expect(scene.counts).toEqual({ A: 2, B: 2, C: 2 });
    });

    it.concurrent("R5 'by whether the model is Claude': a Claude model at Mantle serves Messages, another one Responses", async () => {
      await using scene = await stage.scene({
        ...LIST,
        pool: PAIR,
        providers: {
          A: { family: "bedrock_mantle", region: "us-east-1" },
          B: { family: "bedrock_mantle", region: "us-east-1" },
        },
        deployments: { A: { model: "anthropic.claude-sonnet-4-6" }, B: { model: "openai.gpt-oss-120b" } },
      });
      named(scene, PAIR);
      for (let count = 0; count < 2; count += 1) expect((await askAt(scene, "messages")).status).toBe(200);
      expect(scene.counts).toEqual({ A: 2, B: 0 });
      for (let count = 0; count < 2; count += 1) expect((await askAt(scene, "responses")).status).toBe(200);
      expect(scene.counts).toEqual({ A: 2, B: 2 });
    });

    it.concurrent("R5 'no model can serve the endpoint: 400. The message names the endpoint and the API it requires'", async () => {
      await using scene = await stage.scene({ ...LIST, pool: PAIR, providers: { A: OPENAI, B: OPENAI } });
      const refused = await askAt(scene, "messages");
      expect(refused.status).toBe(400);
      expect(refused.text).toContain("/v1/messages");
      expect(refused.text).toContain("Messages API");
      const chats = await stage.scene({ ...LIST, pool: PAIR, providers: { A: ANTHROPIC, B: ANTHROPIC } });
      const responses = await askAt(chats, "responses");
      expect([responses.status, responses.error.code]).toEqual([400, "endpoint_not_supported"]);
      expect(responses.error.message).toContain("/v1/responses");
      expect(responses.error.message).toContain("Responses API");
      expect([scene.counts, chats.counts]).toEqual([
        { A: 0, B: 0 },
        { A: 0, B: 0 },
      ]);
      await chats[Symbol.asyncDispose]();
    });

    it.concurrent("R5 'a request that picks a model on an API the model doesn't serve fails'", async () => {
      await using scene = await stage.scene({ ...LIST, pool: PAIR });
      scene.A.answer(failure(404, { message: "not a chat model", code: "model_not_found" }));
      const replies = [await scene.ask(), await scene.ask()];
      expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 404]));
      expect(scene.counts).toEqual({ A: 1, B: 1 });
    });

    it.concurrent("R9 'leaves an earlier choice alone': a key that may names provider/model", async () => {
      await using scene = await stage.scene({ ...LIST, pool: PAIR, key: { allow_direct: true } });
      const [, direct] = (await serve(scene, 2)).map(({ attempts }) => attempts[0]?.deployment);
      const before = scene.counts;
      await serve(scene, 4, { model: direct });
      expect(new Set(Object.values(callsSince(scene, before)))).toEqual(new Set([0, 4]));
    });

    it.concurrent("'provider names work in any case'", async () => {
      await using scene = await stage.scene({
        ...LIST,
        pool: PAIR,
        list: (provider) => [
          { provider: provider("A").toUpperCase(), model: "m" },
          { provider: provider("B"), model: "m" },
        ],
      });
      await serve(scene, 4);
      expect(scene.counts).toEqual({ A: 2, B: 2 });
    });

    it.concurrent("R10 'a provider whose key isn't there': the log names provider and variable (bettered: it is skipped)", async () => {
      await using scene = await stage.scene({
        ...LIST,
        pool: PAIR,
        providers: { B: { credential: { env: "SCENE_NOT_THERE" } } },
      });
      scene.A.answer(OK("a"));
      await serve(scene, 4);
      expect(scene.counts).toEqual({ A: 4, B: 0 });
      await eventually(() => expect(scene.gateway.logs()).toContain("SCENE_NOT_THERE"));
    });

    it.concurrent("H4 the log names the model that served, the retry model and the strategy", async () => {
      await using scene = await stage.scene({ ...LIST, pool: PAIR });
      const [reply] = await serve(scene, 1);
      const served = reply?.attempts[0]?.deployment as string;
      const line = await eventually(() => {
        const found = scene.gateway
          .logs()
          .split("\n")
          .find((each) => each.includes(`"group":"${scene.group}"`) && each.includes('"message":"request"'));
        if (found === undefined) throw new Error("no line yet");
        return JSON.parse(found) as Record<string, unknown>;
      });
      expect(line).toMatchObject({ deployment: served, strategy: "round_robin" });
      expect(line["next"]).toMatch(/^up-[ab]-[\da-f]+-\d+\/m-[AB]$/);
      expect(line["next"]).not.toBe(served);
    });
  });

forEachForm("sticky_list", { replicas: 2 }, (stage) => {
  roundRobin(stage);
});

forEachForm("sticky_list", {}, (stage) => {
  theList(stage);
});

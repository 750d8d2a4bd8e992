import { expect, it } from "vitest";
import { eventually, failure, json, sse, tooMany } from "@switchyard/testkit";
import type { RecordedCall } from "@switchyard/testkit";
import type { GatewayClient, Reply } from "../../support/gateway-client.ts";
import type { Scene, SceneSpec, UpstreamName } from "../../support/gateway-scene.ts";
import { forEachForm } from "../../support/gateway-stage.ts";
import { response } from "../../support/responses.ts";
import { askAt, PAIR } from "../support/calls.ts";

const OPENAI = { family: "openai" };
const AZURE = { family: "azure_openai" };
const OPENROUTER = { family: "openrouter" };
/** Two provider names that store responses. */
const TWO: SceneSpec = { preset: "sticky_list", pool: PAIR, providers: { A: OPENAI, B: AZURE } };
/** Two models of one provider name. */
const ONE_NAME: SceneSpec = {
  preset: "sticky_list",
  pool: ["A"],
  providers: { A: OPENAI },
  list: (provider) => [
    { provider: provider("A"), model: "gpt-5" },
    { provider: provider("A").toUpperCase(), model: "gpt-5-mini" },
  ],
};
/** Nobody here has made it. */
const UNKNOWN = { previous_response_id: "resp_of_elsewhere" };

function by(kind: string, expression?: string): SceneSpec {
  return { ...TWO, policy: { affinity: { by: kind, ...(expression && { expression }) } } };
}

/** Each account makes responses of its own. */
function keeping(scene: Scene, names: readonly UpstreamName[]): void {
  for (const name of names) {
    let made = 0;
    scene[name].answer((call: RecordedCall) => {
      if (call.method !== "POST") return json(200, response("resp_read", `from ${name}`));
      made += 1;
      return json(200, response(`resp_${name}${scene.group}${made}`, `from ${name}`));
    });
  }
}

const create = (caller: GatewayClient, fields: object = {}): Promise<Reply> =>
  askAt(caller, "responses", { store: undefined, ...fields });

const idOf = (reply: Reply): string => (reply.json() as { id: string }).id;

forEachForm("sticky_list: stored responses", {}, (stage) => {
  it.concurrent("P8 'requests that read or continue one must reach that account': they do, whatever the turn", async () => {
    await using scene = await stage.scene(TWO);
    keeping(scene, PAIR);
    for (let turn = 0; turn < 4; turn += 1) {
      const made = await create(scene);
      const id = idOf(made);
      const keeper = id.slice(5, 6) as "A" | "B";
      const before = scene[keeper].calls.length;
      const next = await create(scene, { previous_response_id: id });
      expect([next.status, next.text.includes(`from ${keeper}`)]).toEqual([200, true]);
      expect((await scene.get(`/v1/responses/${id}`)).status).toBe(200);
      expect((await scene.get(`/v1/responses/${id}/input_items`)).status).toBe(200);
      const headers = { authorization: `Bearer ${scene.key}` };
      const deleted = await fetch(`${scene.http}/v1/responses/${id}`, { method: "DELETE", headers });
      expect(deleted.status).toBe(200);
      const items = await create(scene, {
        input: [
          { type: "item_reference", id },
          { role: "user", content: "x" },
        ],
        previous_response_id: id,
      });
      expect(items.status).toBe(200);
      expect(scene[keeper].calls.length - before).toBe(5);
    }
  });

  it.concurrent("P8 'they fail with 400 unless a user or expression key picks their model': two names, nobody's id", async () => {
    await using scene = await stage.scene(TWO);
    const reference = { input: [{ type: "item_reference", id: "msg_of_elsewhere" }] };
    for (const fields of [UNKNOWN, { conversation: "conv_elsewhere" }, reference]) {
      const refused = await create(scene, fields);
      expect([refused.status, refused.error.code]).toEqual([400, "stored_response_not_routable"]);
    }
    expect(scene.counts).toEqual({ A: 0, B: 0 });
  });

  it.concurrent("P8 'or an item_reference input item': it reaches the account whose answer has that item, whole and streamed", async () => {
    await using scene = await stage.scene(TWO);
    for (const name of PAIR) {
      const item = { id: `msg_${name}_${scene.group}_0123456789`, type: "message", content: [] };
      const made = response(`resp_${name}${scene.group}`, `from ${name}`, { output: [item] });
      const completed = `event: response.completed\ndata: ${JSON.stringify({ type: "response.completed", sequence_number: 1, response: made })}\n\n`;
      scene[name].answer((call) =>
        call.body.includes('"stream":true') ? sse([completed]) : json(200, made),
      );
    }
    for (const stream of [false, true, true, false]) {
      const [id = "", keeper] = /msg_(A|B)_[\w-]+/u.exec((await create(scene, { stream })).text) ?? [];
      const input = [
        { type: "item_reference", id },
        { role: "user", content: "go on" },
      ];
      for (let turn = 0; turn < 3; turn += 1) {
        expect((await create(scene, { input })).text).toContain(`resp_${keeper}`);
      }
    }
  });

  it.concurrent("P8 'the 400 tells the caller only that this API can't read or continue the stored response'", async () => {
    await using scene = await stage.scene(TWO);
    const { error } = await create(scene, UNKNOWN);
    expect(error.message).not.toMatch(/up-[ab]|azure|openai/iu);
  });

  it.concurrent.for([
    ["user", undefined],
    ["expression", 'request.headers.get("x-end-user-id")'],
  ] as const)("P8 a %s key picks the account, always the same", async ([kind, expression]) => {
    await using scene = await stage.scene(by(kind, expression));
    keeping(scene, PAIR);
    const served = new Set<string>();
    for (let turn = 0; turn < 4; turn += 1) {
      const reply = await askAt(
        scene,
        "responses",
        { ...UNKNOWN, input: `turn ${turn}`, store: undefined },
        { headers: { "x-end-user-id": "u" } },
      );
      expect(reply.status).toBe(200);
      served.add(reply.text.includes("from A") ? "A" : "B");
    }
    expect(served.size).toBe(1);
  });

  it.concurrent("F6, P8 a value that is no key: 'a stored-response request fails with 400 instead. The log says why'", async () => {
    await using scene = await stage.scene(by("expression", 'request.headers.get("x-end-user-id")'));
    const reply = await askAt(
      scene,
      "responses",
      { ...UNKNOWN, store: undefined },
      { headers: { "x-end-user-id": "u".repeat(300) } },
    );
    expect([reply.status, reply.error.code]).toEqual([400, "stored_response_not_routable"]);
    await eventually(() => expect(scene.gateway.logs()).toContain("is longer than 256 bytes"));
  });

  it.concurrent("P8 'under conversation they fail even with a key'", async () => {
    await using scene = await stage.scene(by("conversation"));
    const reply = await create(scene, { ...UNKNOWN, instructions: "be kind" });
    expect([reply.status, reply.error.code]).toEqual([400, "stored_response_not_routable"]);
    expect(scene.counts).toEqual({ A: 0, B: 0 });
  });

  it.concurrent("P8 'openai/gpt-5 and openai/gpt-5-mini share one' provider name, in any case: it keeps what nobody knows", async () => {
    await using scene = await stage.scene(ONE_NAME);
    keeping(scene, ["A"]);
    for (let turn = 0; turn < 4; turn += 1) expect((await create(scene, UNKNOWN)).status).toBe(200);
    const models = new Set(scene.A.calls.map((call) => (call.json() as { model: string }).model));
    expect([...models].toSorted()).toEqual(["gpt-5", "gpt-5-mini"]);
  });

  it.concurrent("P8, F4 'with one provider name, each continuation is keyed on its new turn, so it can run on a different model'", async () => {
    await using scene = await stage.scene({ ...ONE_NAME, policy: { affinity: { by: "conversation" } } });
    keeping(scene, ["A"]);
    const servedBy = async (turn: string): Promise<string> => {
      expect((await create(scene, { ...UNKNOWN, input: turn })).status).toBe(200);
      return scene.A.calls.map((call) => (call.json() as { model: string }).model).at(-1) ?? "";
    };
    const turns = Array.from({ length: 12 }, (_, place) => `turn ${place}`);
    const models: string[] = [];
    for (const turn of turns) models.push(await servedBy(turn));
    expect(new Set(models).size).toBe(2);
    for (const [place, turn] of turns.entries()) expect(await servedBy(turn)).toBe(models[place]);
  });

  it.concurrent("E11 'stored-response requests get no retry model'", async () => {
    await using scene = await stage.scene(ONE_NAME);
    scene.A.answer(tooMany());
    expect((await create(scene, UNKNOWN)).status).toBe(429);
    const models = new Set(scene.A.calls.map((call) => (call.json() as { model: string }).model));
    expect([scene.A.calls.length, models.size]).toEqual([3, 1]);
  });

  it.concurrent("P8 'a provider that stores nothing' gets creates only with store: false, and no stored-response request", async () => {
    await using scene = await stage.scene({ ...TWO, providers: { A: OPENAI, B: OPENROUTER } });
    keeping(scene, PAIR);
    for (let turn = 0; turn < 4; turn += 1) expect((await create(scene)).status).toBe(200);
    for (let turn = 0; turn < 2; turn += 1) expect((await create(scene, UNKNOWN)).status).toBe(200);
    expect(scene.counts).toEqual({ A: 6, B: 0 });
    for (let turn = 0; turn < 4; turn += 1) expect((await create(scene, { store: false })).status).toBe(200);
    expect(scene.counts).toEqual({ A: 8, B: 2 });
  });

  it.concurrent("P8 'or when no provider in the list stores responses'", async () => {
    await using scene = await stage.scene({ ...TWO, providers: { A: OPENROUTER, B: OPENROUTER } });
    keeping(scene, PAIR);
    for (let turn = 0; turn < 4; turn += 1) expect((await create(scene)).status).toBe(200);
    expect(scene.counts).toEqual({ A: 2, B: 2 });
    expect((await create(scene, UNKNOWN)).status).toBe(400);
  });

  it.concurrent("P8 'a create that moves to the retry model stores its response there' (bettered: it is found there)", async () => {
    await using scene = await stage.scene(TWO);
    keeping(scene, PAIR);
    scene.A.answer(failure(429, { message: "slow down" }));
    const made = [await create(scene), await create(scene)];
    for (const reply of made) {
      expect(reply.status).toBe(200);
      expect((await scene.get(`/v1/responses/${idOf(reply)}`)).text).toContain("from B");
    }
  });
});

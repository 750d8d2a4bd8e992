import { expect, it } from "vitest";
import { create } from "@bufbuild/protobuf";
import { ApplyConfigRequestSchema, ConfigService } from "@switchyard/proto/admin/v1/config_service";
import { CallContext, createLeanClient } from "@switchyard/rpc";
import { BROKEN, eventually, OK, tooMany } from "@switchyard/testkit";
import type { Scene, SceneSpec } from "../../support/gateway-scene.ts";
import { forEachForm } from "../../support/gateway-stage.ts";
import { named, PAIR } from "../support/calls.ts";

const PRESET: SceneSpec = { preset: "weighted_primary" };
const HALF: SceneSpec = { ...PRESET, deployments: { A: { weight: 50 }, B: { weight: 50 } } };

async function placeOf(scene: Scene, session: string): Promise<string> {
  const reply = await scene.ask({}, { headers: { "x-session-id": session } });
  expect(reply.status).toBe(200);
  return reply.content;
}

/** A session at home at A, with A's weight as it is. */
async function sessionAtA(scene: Scene): Promise<string> {
  for (let count = 0; count < 100; count += 1) {
    if ((await placeOf(scene, `s-${count}`)) === "A") return `s-${count}`;
  }
  throw new Error("no session is at home at A");
}

forEachForm("B: weights and sessions", {}, (stage) => {
  it.concurrent("One model name, several providers behind it: traffic is split by weight (S1)", async () => {
    await using scene = await stage.scene({
      ...PRESET,
      deployments: { A: { weight: 70 }, B: { weight: 30 } },
    });
    named(scene, PAIR);
    for (let session = 0; session < 100; session += 1) await placeOf(scene, `s-${session}`);
    expect(scene.A.calls.length).toBeGreaterThan(scene.B.calls.length);
    expect(scene.B.calls.length).toBeGreaterThan(5);
    expect(scene.B.calls[0]?.json()).toMatchObject({ model: "m-B" });
  });

  it.concurrent("Only project admins and account admins can change it (section 9)", async () => {
    await using scene = await stage.scene(PRESET);
    using client = createLeanClient(ConfigService, { urls: [scene.gateway.rpc.router] });
    const call = new CallContext({
      headers: { authorization: `Bearer ${scene.key}` },
      deadline: Date.now() + 5_000,
    });
    const applied = client.applyConfig(create(ApplyConfigRequestSchema, { config: {} }), call);
    await expect(applied).rejects.toThrow(/role|admin|permission/i);
    expect((await scene.ask()).status).toBe(200);
  });

  it.concurrent("A new model starts at 100/0, and a 0% destination takes no traffic while another is healthy (K6, S1)", async () => {
    await using scene = await stage.scene(PRESET);
    for (let session = 0; session < 30; session += 1) await placeOf(scene, `s-${session}`);
    expect(scene.counts).toEqual({ A: 30, B: 0 });
  });

  it.concurrent("A 0% destination is still a backup (S1)", async () => {
    await using scene = await stage.scene(PRESET);
    named(scene, PAIR);
    scene.A.answer(BROKEN);
    for (let count = 0; count < 8; count += 1) expect((await scene.ask()).content).toBe("B");
    // The fifth failure stops the calls to its provider; the backup alone serves.
    expect(scene.counts).toEqual({ A: 5, B: 8 });
  });

  it.concurrent("A request that fails on its destination is retried on the next one by weight (S2, E3)", async () => {
    const deployments = { A: { weight: 10 }, B: { weight: 60 }, C: { weight: 30 } };
    await using scene = await stage.scene({ ...PRESET, order: ["A", "B", "C"], deployments });
    named(scene, ["A", "C"]);
    scene.B.script([BROKEN, OK("B")]);
    for (let session = 0; session < 100; session += 1) {
      const reply = await scene.ask({}, { headers: { "x-session-id": `s-${session}` } });
      if (reply.attempts.length === 1) continue;
      expect(reply.content).toBe("C");
      return;
    }
    throw new Error("no session came to B");
  });

  it.concurrent("Choose Save routing to apply a change: the next request goes by it (K5)", async () => {
    await using scene = await stage.scene(PRESET);
    named(scene, PAIR);
    expect((await scene.ask()).content).toBe("A");
    await scene.change({ deployments: { A: { weight: 0 }, B: { weight: 100 } } });
    expect((await scene.ask()).content).toBe("B");
  });

  it.concurrent("A session keeps its destination, on by default, by any of its names (F3)", async () => {
    await using scene = await stage.scene(HALF);
    named(scene, PAIR);
    const names: readonly ((session: string) => readonly [object, Record<string, string>])[] = [
      (session) => [{}, { "x-session-id": session }],
      (session) => [{}, { "x-claude-code-session-id": session }],
      (session) => [{ prompt_cache_key: session }, {}],
      (session) => [{ metadata: { user_id: session } }, {}],
      (session) => [{ user: session }, {}],
    ];
    const places = new Set<string>();
    for (let session = 0; session < 24; session += 1) {
      const placesOf = new Set<string>();
      for (const tell of names) {
        const [body, headers] = tell(`session-${session}`);
        placesOf.add((await scene.ask(body, { headers })).content);
      }
      expect(placesOf.size).toBe(1);
      for (const place of placesOf) places.add(place);
    }
    expect([...places].toSorted()).toEqual(["A", "B"]);
  });

  it.concurrent("It keeps each caller's requests on the same destination when nothing names a session (F3)", async () => {
    await using scene = await stage.scene(HALF);
    named(scene, PAIR);
    const places = new Set<string>();
    for (let count = 0; count < 15; count += 1) places.add((await scene.ask()).content);
    expect(places.size).toBe(1);
  });

  it.concurrent("Without it, a conversation can land on another provider (F3, none)", async () => {
    await using scene = await stage.scene({ ...HALF, policy: { affinity: { by: "none" } } });
    named(scene, PAIR);
    const places = new Set<string>();
    for (let count = 0; count < 40; count += 1) places.add(await placeOf(scene, "one"));
    expect(places.size).toBe(2);
  });

  it.concurrent("A session moves when its provider fails, and back when that recovers (F2, B3)", async () => {
    // The provider is skipped for 2 s here, in place of 30 s.
    await using scene = await stage.scene({ ...HALF, policy: { bench: { cooloff: "2s" } } });
    named(scene, PAIR);
    const session = await sessionAtA(scene);
    scene.A.answer(BROKEN);
    for (let count = 0; count < 8; count += 1) expect(await placeOf(scene, session)).toBe("B");
    named(scene, PAIR);
    await eventually(async () => expect(await placeOf(scene, session)).toBe("A"), { every: 100 });
    expect(await placeOf(scene, session)).toBe("A");
  });

  it.concurrent("A session moves when its provider rate-limits it, and back afterwards (F2, B2)", async () => {
    await using scene = await stage.scene(HALF);
    named(scene, PAIR);
    const session = await sessionAtA(scene);
    scene.A.script([tooMany({ "Retry-After": "2" }), OK("A")]);
    const before = scene.A.calls.length;
    for (let count = 0; count < 5; count += 1) expect(await placeOf(scene, session)).toBe("B");
    expect(scene.A.calls.length).toBe(before + 1);
    await eventually(async () => expect(await placeOf(scene, session)).toBe("A"), { every: 100 });
  });

  it.concurrent("A session moves when you change the weights (F2)", async () => {
    await using scene = await stage.scene(HALF);
    named(scene, PAIR);
    const session = await sessionAtA(scene);
    await scene.change({ deployments: { A: { weight: 0 }, B: { weight: 100 } } });
    expect(await placeOf(scene, session)).toBe("B");
    await scene.change(HALF);
    expect(await placeOf(scene, session)).toBe("A");
  });

  it.concurrent("Remove alias: callers still sending it fail; published again it has no grants (K4)", async () => {
    const other = { other: { order: ["B" as const] } };
    await using scene = await stage.scene({ ...PRESET, order: ["A"], groups: other });
    const removed = { model: scene.groupOf("other") };
    expect((await scene.ask(removed)).status).toBe(200);
    await scene.change({ groups: {} });
    for (const published of [false, true]) {
      if (published) await scene.change({ groups: other, key: { groups: [scene.group] } });
      const { status, error } = await scene.ask(removed);
      expect([status, error.code]).toEqual([403, "model_not_allowed"]);
    }
    expect((await scene.ask()).status).toBe(200);
  });

  it.concurrent("Recent calls: who called, and which provider served it (H4)", async () => {
    await using scene = await stage.scene(PRESET);
    scene.A.answer(BROKEN);
    await scene.ask({}, { headers: { "x-request-id": `recent-${scene.group}` } });
    const line = await eventually(() => {
      const lines = scene.gateway.logs().split("\n");
      const found = lines.find(
        (each) => each.includes('"request"') && each.includes(`recent-${scene.group}`),
      );
      if (found === undefined) throw new Error("no line yet");
      return JSON.parse(found) as object;
    });
    const tag = scene.group.slice(2);
    expect(line).toMatchObject({
      key: `key-${tag}`,
      group: scene.group,
      deployment: `up-b-${tag}/m-B`,
      strategy: "weighted",
      affinity: "session",
      attempts: 2,
      status: 200,
    });
  });
});

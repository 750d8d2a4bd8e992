import { expect, it } from "vitest";
import { BROKEN, eventually, OK } from "@switchyard/testkit";
import type { AskOptions, GatewayClient } from "../support/gateway-client.ts";
import type { Scene, UpstreamName } from "../support/gateway-scene.ts";
import { forEachForm } from "../support/gateway-stage.ts";

const ALL: readonly UpstreamName[] = ["A", "B", "C"];
const SECRET_KEY = "session-of-nobody-else";

/** Each upstream answers with its own name. */
function named(scene: Scene, upstreams: readonly UpstreamName[] = ALL): void {
  for (const name of upstreams) scene[name].answer(OK(name.toLowerCase()));
}

async function placeOf(caller: GatewayClient, body: object, options: AskOptions = {}): Promise<string> {
  const reply = await caller.ask(body, options);
  expect(reply.status).toBe(200);
  return reply.content;
}

function policyBy(by: string, more: object = {}): Record<string, unknown> {
  return { affinity: { by, ...more }, bench: { failures: 0 } };
}

forEachForm("affinity", { replicas: 2 }, (stage) => {
  it.concurrent("F1, F3 session: one session stays together on every gateway, and sessions spread", async () => {
    await using scene = await stage.scene({ pool: ALL, policy: policyBy("session") });
    named(scene);
    const other = scene.via(1);
    const places = new Set<string>();
    for (let session = 0; session < 24; session += 1) {
      const header = { headers: { "x-session-id": `s-${session}` } };
      const place = await placeOf(scene, {}, header);
      places.add(place);
      expect(await placeOf(other, { user: "another" }, header)).toBe(place);
      const ofClaudeCode = { headers: { "x-claude-code-session-id": `s-${session}` } };
      expect(await placeOf(scene, { metadata: { user_id: "another" } }, ofClaudeCode)).toBe(place);
      const inBody = { prompt_cache_key: `s-${session}`, user: "another" };
      expect(await placeOf(other, inBody)).toBe(place);
    }
    expect([...places].toSorted()).toEqual(["a", "b", "c"]);
  });

  it.concurrent("F3 session, user: without any name of a session the caller is the key", async () => {
    for (const by of ["session", "user"]) {
      await using scene = await stage.scene({ pool: ALL, policy: policyBy(by) });
      named(scene);
      const places = new Set<string>();
      for (let count = 0; count < 8; count += 1) places.add(await placeOf(scene, {}));
      expect(places.size).toBe(1);
    }
  });

  it.concurrent("F4 conversation: what opens it keeps it together", async () => {
    await using scene = await stage.scene({ pool: ALL, policy: policyBy("conversation") });
    named(scene);
    const places = new Set<string>();
    for (let chat = 0; chat < 16; chat += 1) {
      const opening = [
        { role: "system", content: "be kind" },
        { role: "user", content: `question ${chat}` },
      ];
      const place = await placeOf(scene, { messages: opening });
      places.add(place);
      const answered = [...opening, { role: "assistant", content: "x" }, { role: "user", content: "go on" }];
      expect(await placeOf(scene.via(1), { messages: answered })).toBe(place);
    }
    expect(places.size).toBe(3);
  });

  it.concurrent("F5, F6 expression: a header keeps requests together; what is no key takes the strategy", async () => {
    const expression = 'request.headers.get("X-Tenant")';
    const policy = { ...policyBy("expression", { expression }), strategy: "round_robin" };
    await using scene = await stage.scene({ pool: ALL, policy });
    named(scene);
    const places = new Set<string>();
    for (let tenant = 0; tenant < 16; tenant += 1) {
      const header = { headers: { "x-tenant": `t-${tenant}` } };
      const place = await placeOf(scene, {}, header);
      places.add(place);
      expect(await placeOf(scene.via(1), {}, header)).toBe(place);
    }
    expect(places.size).toBe(3);
    const tooLong = { headers: { "x-tenant": "t".repeat(300) } };
    const turns = new Set<string>();
    for (let count = 0; count < 3; count += 1) turns.add(await placeOf(scene, {}, tooLong));
    expect(turns.size).toBe(3);
    await eventually(() => expect(scene.gateway.logs()).toContain("is longer than 256 bytes"));
  });

  it.concurrent("F5 expression: who calls, by the key's own data", async () => {
    const policy = policyBy("expression", { expression: "request.user.data.team" });
    await using scene = await stage.scene({
      pool: ALL,
      policy,
      key: { user: { sub: "u-1", data: { team: "blue" } } },
    });
    named(scene);
    const places = new Set<string>();
    for (let count = 0; count < 8; count += 1) places.add(await placeOf(scene, {}));
    expect(places.size).toBe(1);
  });

  it.concurrent("F2: a session passes over a deployment that fails, and returns when it recovers", async () => {
    const policy = {
      affinity: { by: "session" },
      bench: { failures: 1, cooloff: "1s" },
      failover: { order: "strategy" },
    };
    await using scene = await stage.scene({ pool: ["A", "B"], policy });
    named(scene, ["A", "B"]);
    const header = { headers: { "x-session-id": "s" } };
    const home = await placeOf(scene, {}, header);
    const [mine, others] = home === "a" ? [scene.A, "b"] : [scene.B, "a"];
    mine.answer(BROKEN);
    for (let count = 0; count < 4; count += 1) expect(await placeOf(scene, {}, header)).toBe(others);
    mine.answer(OK(home));
    await eventually(async () => expect(await placeOf(scene, {}, header)).toBe(home), { every: 200 });
  });

  it.concurrent("F7, H4: the log names the kind, never the key", async () => {
    await using scene = await stage.scene({ pool: ["A", "B"], policy: policyBy("session") });
    named(scene, ["A", "B"]);
    await placeOf(scene, {}, { headers: { "x-session-id": SECRET_KEY } });
    await eventually(() => expect(scene.gateway.logs()).toMatch(/"affinity":"session"/));
    expect(scene.gateway.logs()).not.toContain(SECRET_KEY);
  });
});

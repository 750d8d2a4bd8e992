import { describe, expect, it } from "vitest";
import { BROKEN, eventually } from "@switchyard/testkit";
import { forEachForm } from "../../support/gateway-stage.ts";
import type { Stage } from "../../support/gateway-stage.ts";
import { ALL, named, PAIR } from "../support/calls.ts";
import { BY_QUERY, KEYS, list, logOf, placeOf, samePlaces, takesTurns } from "./places.ts";

const stickyRouting = (stage: Stage): unknown =>
  describe("sticky routing", () => {
    it.concurrent("F1 'the same key always gets the same model', 'on every gateway instance', and keys spread", async () => {
      await using scene = await stage.scene(list("expression", BY_QUERY));
      named(scene);
      const places = new Set<string>();
      for (const query of KEYS) {
        const place = await placeOf(scene, {}, { query });
        places.add(place);
        expect(
          await placeOf(scene.via(1), { messages: [{ role: "user", content: "other" }] }, { query }),
        ).toBe(place);
      }
      expect([...places].toSorted()).toEqual(["A", "B", "C"]);
    });

    it.concurrent("F1 'no stored mapping': a gateway that starts later knows the same places", async () => {
      await using scene = await stage.scene(list("expression", BY_QUERY));
      const first: string[] = [];
      for (const query of KEYS) first.push(await placeOf(scene, {}, { query }));
      // Health, router and forwarder keep nothing of a key: what a config that is replaced leaves behind is the list.
      await scene.change({
        policy: { affinity: { by: "expression", expression: BY_QUERY }, max_attempts: 5 },
      });
      const again: string[] = [];
      for (const query of KEYS) again.push(await placeOf(scene.via(1), {}, { query }));
      expect(again).toEqual(first);
    });

    it.concurrent("S2 'the retry model is the one with the second-highest score, so it's stable too'", async () => {
      await using scene = await stage.scene(list("expression", BY_QUERY));
      named(scene);
      const homes = new Map<string, string>();
      for (const query of KEYS) homes.set(query, await placeOf(scene, {}, { query }));
      scene.A.answer(BROKEN);
      const seconds = new Set<string>();
      for (const [query, home] of homes) {
        const second = await placeOf(scene, {}, { query });
        if (home === "A") seconds.add(second);
        else expect(second).toBe(home);
        expect(await placeOf(scene.via(1), {}, { query })).toBe(second);
      }
      for (const second of seconds) expect(["B", "C"]).toContain(second);
    });

    it.concurrent("F1 'adding a model moves only the keys it now wins; removing one only the keys it was winning'", async () => {
      await using scene = await stage.scene({
        ...list("expression", BY_QUERY),
        groups: { two: { order: ["A", "B"] } },
      });
      const moved: string[] = [];
      for (const query of KEYS) {
        const ofTwo = await placeOf(scene, { model: scene.groupOf("two") }, { query });
        const ofThree = await placeOf(scene, {}, { query });
        if (ofTwo !== ofThree) moved.push(ofThree);
      }
      expect(moved.length).toBeGreaterThan(0);
      expect(new Set(moved)).toEqual(new Set(["C"]));
    });

    it.concurrent("F1, S6 'requests without a key go round robin'", async () => {
      await using scene = await stage.scene(list("expression", BY_QUERY));
      expect(await takesTurns(() => placeOf(scene))).toBe(true);
    });
  });

const stickyByUser = (stage: Stage): unknown =>
  describe("sticky by user", () => {
    const callers = KEYS.map((sub) => ({ user: { sub } }));

    it.concurrent("F3 'keeps every customer on one model while customers spread across the list'", async () => {
      await using scene = await stage.scene({ ...list("user"), callers });
      const places = new Set<string>();
      for (const place of callers.keys()) {
        const caller = scene.caller(place);
        const home = await placeOf(caller);
        places.add(home);
        for (let count = 0; count < 3; count += 1)
          expect(await placeOf(caller, { user: `${count}` })).toBe(home);
      }
      expect(places.size).toBe(3);
    });

    it.concurrent("F3 'it works like an expression of request.user.sub'", async () => {
      const policy = { affinity: { by: "expression", expression: "request.user.sub" } };
      await using scene = await stage.scene({
        ...list("user"),
        callers,
        groups: { written: { order: ALL, policy } },
      });
      for (const place of callers.keys()) {
        const caller = scene.caller(place);
        expect(await placeOf(caller, { model: scene.groupOf("written") })).toBe(await placeOf(caller));
      }
    });

    it.concurrent("F3 'keys on the identity': two keys of one customer go to one model", async () => {
      const both = KEYS.flatMap((sub) => [{ user: { sub } }, { user: { sub } }]);
      await using scene = await stage.scene({ ...list("user"), callers: both });
      for (let place = 0; place < both.length; place += 2) {
        expect(await placeOf(scene.caller(place + 1))).toBe(await placeOf(scene.caller(place)));
      }
    });
  });

/** Requests of a conversation, as chat messages of it. */
const opened = (system: string, first: unknown, ...more: object[]): object => ({
  messages: [{ role: "system", content: system }, { role: "user", content: first }, ...more],
});
const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
const text = (value: string): object => ({ type: "text", text: value });

const stickyByConversation = (stage: Stage): unknown =>
  describe("sticky by conversation", () => {
    it.concurrent("F4 'sends the same key on every turn'", async () => {
      await using scene = await stage.scene(list("conversation"));
      const later = [
        { role: "assistant", content: "x" },
        { role: "user", content: "go on" },
      ];
      const same = await samePlaces(
        scene,
        (chat) => placeOf(scene, opened("be kind", chat)),
        (chat) => placeOf(scene, opened("be kind", chat, ...later)),
      );
      expect(same).toBe(true);
      expect(Object.values(scene.counts).every((calls) => calls > 0)).toBe(true);
    });

    it.concurrent("F4 'keys on the system prompt and the first user message': another system prompt is another key", async () => {
      await using scene = await stage.scene(list("conversation"));
      const same = await samePlaces(
        scene,
        (chat) => placeOf(scene, opened("be kind", chat)),
        (chat) => placeOf(scene, opened("be brief", chat)),
      );
      expect(same).toBe(false);
    });

    it.concurrent("F4 'images and other files don't make them different', and the first message 'with text' counts", async () => {
      await using scene = await stage.scene(list("conversation"));
      const same = await samePlaces(
        scene,
        (chat) => placeOf(scene, opened("s", [text(chat)])),
        (chat) => placeOf(scene, opened("s", [image, text(chat), image])),
      );
      expect(same).toBe(true);
      const afterImage = await samePlaces(
        scene,
        (chat) => placeOf(scene, opened("s", chat)),
        (chat) => placeOf(scene, opened("s", [image], { role: "user", content: chat })),
      );
      expect(afterImage).toBe(true);
    });

    it.concurrent("F4 'a conversation that opens with an image on its own goes round robin until a turn adds text'", async () => {
      await using scene = await stage.scene(list("conversation"));
      const alone = { messages: [{ role: "user", content: [image] }] };
      expect(await takesTurns(() => placeOf(scene, alone))).toBe(true);
      const told = {
        messages: [
          { role: "user", content: [image] },
          { role: "user", content: "what is it?" },
        ],
      };
      expect(await takesTurns(() => placeOf(scene, told))).toBe(false);
    });

    it.concurrent("F4 'as Chat Completions and Messages clients do': plain-text documents count on /v1/messages", async () => {
      const spec = {
        ...list("conversation"),
        providers: Object.fromEntries(ALL.map((name) => [name, { family: "anthropic" }])),
      };
      await using scene = await stage.scene(spec);
      named(scene);
      const ask = (content: unknown, ...more: object[]): Promise<string> =>
        placeOf(
          scene,
          { system: "be kind", messages: [{ role: "user", content }, ...more] },
          { endpoint: "messages" },
        );
      const later = [
        { role: "assistant", content: "x" },
        { role: "user", content: "more" },
      ];
      expect(
        await samePlaces(
          scene,
          (chat) => ask(chat),
          (chat) => ask([text(chat)], ...later),
        ),
      ).toBe(true);
      const document = (data: string): object => ({
        type: "document",
        source: { type: "text", media_type: "text/plain", data },
      });
      const pdf = {
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
      };
      expect(
        await samePlaces(
          scene,
          (chat) => ask([text("read")]).then((place) => place + chat),
          (chat) => ask([document(chat), text("read")]).then((place) => place + chat),
        ),
      ).toBe(false);
      expect(
        await samePlaces(
          scene,
          (chat) => ask([text(chat)]),
          (chat) => ask([pdf, text(chat)]),
        ),
      ).toBe(true);
    });

    it.concurrent("F4 'on the Responses API, instructions plus system or developer items before the first user message'", async () => {
      const spec = {
        ...list("conversation"),
        providers: Object.fromEntries(ALL.map((name) => [name, { family: "openai" }])),
      };
      await using scene = await stage.scene(spec);
      named(scene);
      const ask = (instructions: string, input: unknown): Promise<string> =>
        placeOf(scene, { instructions, input }, { endpoint: "responses" });
      const user = (content: string): object => ({ role: "user", content });
      const developer = { role: "developer", content: "be brief" };
      const plain = (chat: string): Promise<string> => ask("i", [user(chat)]);
      expect(
        await samePlaces(scene, plain, (chat) =>
          ask("i", [user(chat), { role: "assistant", content: "x" }, user("y")]),
        ),
      ).toBe(true);
      expect(await samePlaces(scene, plain, (chat) => ask("i", [user(chat), developer]))).toBe(true);
      expect(await samePlaces(scene, plain, (chat) => ask("j", [user(chat)]))).toBe(false);
      expect(await samePlaces(scene, plain, (chat) => ask("i", [developer, user(chat)]))).toBe(false);
    });

    it.concurrent("F7 'it never stores or logs it'", async () => {
      await using scene = await stage.scene(list("conversation"));
      await placeOf(scene, opened("THE-SYSTEM-PROMPT", "THE-FIRST-MESSAGE"));
      await eventually(() => expect(scene.gateway.logs()).toContain(`"group":"${scene.group}"`));
      expect(scene.gateway.logs()).not.toMatch(/THE-SYSTEM-PROMPT|THE-FIRST-MESSAGE/);
    });
  });

const stickyByExpression = (stage: Stage): unknown =>
  describe("sticky by expression", () => {
    const header = 'request.headers.get("x-end-user-id")';

    it.concurrent("F5 'keep each end user on one model when your app sends an end-user ID in a header'", async () => {
      await using scene = await stage.scene(list("expression", header));
      const by = (id: string): Promise<string> => placeOf(scene, {}, { headers: { "X-End-User-Id": id } });
      expect(await samePlaces(scene, by, by)).toBe(true);
      expect(Object.values(scene.counts).every((calls) => calls > 0)).toBe(true);
    });

    it.concurrent("F6 'two strings that normalize to the same NFC text share a model'", async () => {
      await using scene = await stage.scene(list("expression", BY_QUERY));
      const by = (name: string) => (key: string) =>
        placeOf(scene, {}, { query: encodeURIComponent(name + key) });
      expect(await samePlaces(scene, by("caf\u00e9"), by("cafe\u0301"))).toBe(true);
    });

    it.concurrent("F6 'values are case-sensitive, so Acme and acme can land on different models'", async () => {
      await using scene = await stage.scene(list("expression", BY_QUERY));
      const by = (name: string) => (key: string) => placeOf(scene, {}, { query: name + key });
      expect(await samePlaces(scene, by("Acme"), by("acme"))).toBe(false);
    });

    it.concurrent.for([
      ["longer than 256 UTF-8 bytes", "%C3%A9".repeat(129), "is longer than 256 bytes"],
      ["with a control character", "a%07b", "control character"],
      ["with U+2028", "a%E2%80%A8b", "line separator"],
      ["with U+2029", "a%E2%80%A9b", "line separator"],
      ["an empty string", "", "is empty"],
    ] as const)(
      "F6 a value %s: 'the request goes round robin. The request log says why'",
      async ([, query, why]) => {
        await using scene = await stage.scene(list("expression", BY_QUERY));
        expect(await takesTurns(() => placeOf(scene, {}, { query }))).toBe(true);
        await eventually(() => expect(logOf(scene)).toContain(why));
      },
    );

    it.concurrent("F6 'resolves to nothing': round robin, and the log says why", async () => {
      await using scene = await stage.scene(list("expression", header));
      expect(await takesTurns(() => placeOf(scene))).toBe(true);
      await eventually(() => expect(logOf(scene)).toContain("is not there"));
    });

    it.concurrent("F6 256 bytes are not too long", async () => {
      await using scene = await stage.scene(list("expression", BY_QUERY));
      expect(await takesTurns(() => placeOf(scene, {}, { query: "%C3%A9".repeat(128) }))).toBe(false);
    });

    it.concurrent.for([
      ["an object", { seat: { row: 1 } }, "is neither a string nor an integer"],
      ["a fractional number", { seat: 1.5 }, "safe integer"],
      ["an integer that is not safe", { seat: 2 ** 53 }, "safe integer"],
      ["-0", { seat: -0 }, "safe integer"],
      ["nothing", {}, "is not there"],
    ] as const)(
      "F6 a value of the caller's that is %s goes round robin, and the log says why",
      async ([, data, why]) => {
        const spec = list("expression", "request.user.data.seat");
        await using scene = await stage.scene({ ...spec, key: { user: { sub: "u", data } } });
        expect(await takesTurns(() => placeOf(scene))).toBe(true);
        await eventually(() => expect(logOf(scene)).toContain(why));
      },
    );

    it.concurrent.for([4, "four"])(
      "F6 'it must be a string or a safe integer': %s keeps together",
      async (seat) => {
        const spec = list("expression", "request.user.data.seat");
        await using scene = await stage.scene({ ...spec, key: { user: { sub: "u", data: { seat } } } });
        expect(await takesTurns(() => placeOf(scene))).toBe(false);
      },
    );

    it.concurrent("F5 'from the request or its context': the key's metadata", async () => {
      const spec = list("expression", "context.custom.tenant");
      await using scene = await stage.scene({ ...spec, pool: PAIR, key: { metadata: { tenant: "t" } } });
      const places = new Set<string>();
      for (let count = 0; count < 4; count += 1) places.add(await placeOf(scene));
      expect(places.size).toBe(1);
    });

    it.concurrent("F7 'it never stores or logs it'", async () => {
      await using scene = await stage.scene(list("expression", BY_QUERY));
      await placeOf(scene, {}, { query: "SECRET-CUSTOMER" });
      await placeOf(scene, {}, { query: `SECRET-CUSTOMER${"x".repeat(300)}` });
      await eventually(() => expect(logOf(scene)).toContain("is longer than 256 bytes"));
      expect(scene.gateway.logs()).not.toContain("SECRET-CUSTOMER");
    });
  });

forEachForm("sticky_list", { replicas: 2 }, (stage) => {
  stickyRouting(stage);
});

forEachForm("sticky_list", {}, (stage) => {
  stickyByUser(stage);
  stickyByConversation(stage);
  stickyByExpression(stage);
});

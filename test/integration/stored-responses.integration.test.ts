import { expect, it } from "vitest";
import { eventually, failure, json, OK } from "@switchyard/testkit";
import type { Answer } from "@switchyard/testkit";
import { forEachForm } from "../support/gateway-stage.ts";
import { ask, clientOf, KEEPERS, OPENAI, response } from "../support/responses.ts";

forEachForm("stored responses", {}, (stage) => {
  it.concurrent("P8: read, list, cancel, continue and delete go to the account that keeps it", async () => {
    await using scene = await stage.scene(KEEPERS);
    for (const name of ["A", "B"] as const) {
      let made = 0;
      scene[name].answer((call) => {
        if (call.method === "DELETE") return json(200, { id: "x", object: "response", deleted: true });
        if (call.path.includes("input_items"))
          return json(200, { object: "list", data: [], has_more: false });
        if (call.method === "POST" && !call.path.includes("cancel")) made += 1;
        return json(200, response(`resp_${name}${made}`, `from ${name}`));
      });
    }
    const client = clientOf(scene);
    for (let turn = 0; turn < 6; turn += 1) {
      const first = await client.responses.create({ model: scene.model, input: "hi" });
      const name = first.id.slice(5, 6) as "A" | "B";
      const before = scene[name].calls.length;
      expect((await client.responses.retrieve(first.id)).output_text).toBe(`from ${name}`);
      expect((await client.responses.inputItems.list(first.id)).data).toEqual([]);
      await client.responses.cancel(first.id);
      const second = await client.responses.create({
        model: scene.model,
        input: "go on",
        previous_response_id: first.id,
      });
      expect(second.output_text).toBe(`from ${name}`);
      await client.responses.delete(first.id);
      expect(scene[name].calls.length - before).toBe(5);
    }
    expect(scene.B.calls.some(({ path }) => path.startsWith("/openai/v1/responses"))).toBe(true);
  });

  it.concurrent("P8: an id that nobody knows: 400 where two may keep it, the only keeper's own answer where one does", async () => {
    await using scene = await stage.scene({
      ...KEEPERS,
      groups: { one: { order: ["A"] } },
    });
    const missing = {
      message: "Previous response with id 'resp_x' not found.",
      type: "invalid_request_error",
    };
    scene.A.answer(
      failure(400, { ...missing, param: "previous_response_id", code: "previous_response_not_found" }),
    );
    const two = await ask(scene, { previous_response_id: "resp_x" });
    expect(two.status).toBe(400);
    expect(await two.json()).toMatchObject({ error: { code: "stored_response_not_routable" } });
    expect(scene.counts).toEqual({ A: 0, B: 0 });
    for (let turn = 0; turn < 3; turn += 1) {
      const one = await ask(scene, { model: scene.groupOf("one"), previous_response_id: "resp_x" });
      expect(await one.json()).toMatchObject({ error: { code: "previous_response_not_found" } });
    }
    // It is the caller's own mistake, which benches nobody.
    expect(scene.counts).toEqual({ A: 3, B: 0 });
  });

  it.concurrent("P8: who keeps nothing gets no request for a stored response, and a create only with store: false", async () => {
    await using scene = await stage.scene({ pool: ["A", "B"], providers: { B: OPENAI } });
    scene.A.answer(OK("chat"));
    scene.B.answer(json(200, response("resp_b", "kept")));
    for (let turn = 0; turn < 4; turn += 1) expect((await ask(scene, {})).status).toBe(200);
    expect(scene.counts).toEqual({ A: 0, B: 4 });
    for (let turn = 0; turn < 20; turn += 1) await ask(scene, { store: false });
    expect(scene.counts["A"]).toBeGreaterThan(0);
    const before = scene.counts["B"] as number;
    expect((await ask(scene, { previous_response_id: "resp_b" })).status).toBe(200);
    expect(scene.counts["B"]).toBe(before + 1);
  });
});

/** Signs what it makes and refuses what it did not (BH-31). */
function sealing(name: string): (call: { readonly body: Buffer; json(): unknown }) => Answer {
  let made = 0;
  return (call) => {
    const blobs = [...call.body.toString().matchAll(/"encrypted_content":"([^"]*)"/gu)].map(
      ([, blob]) => blob ?? "",
    );
    if (blobs.some((blob) => !blob.startsWith(`ENC-${name}-`))) {
      const message = "The encrypted content could not be verified.";
      return failure(400, { message, type: "invalid_request_error", code: "invalid_encrypted_content" });
    }
    made += 1;
    const own = {
      type: "reasoning",
      id: `rs_${made}`,
      summary: [],
      encrypted_content: `ENC-${name}-${made}`,
    };
    const plain = response(`resp_${name}${made}`, `from ${name}`, { store: false });
    return json(200, { ...plain, output: [own, ...(plain["output"] as object[])] });
  };
}

forEachForm("responses over replicas", { replicas: 2 }, (stage) => {
  it("P8: another replica finds the account that keeps a response", async () => {
    await using scene = await stage.scene(KEEPERS);
    for (const name of ["A", "B"] as const) {
      scene[name].answer((call) =>
        json(200, response(call.method === "GET" ? "x" : `resp_${name}${scene.group}`, `from ${name}`)),
      );
    }
    for (let turn = 0; turn < 4; turn += 1) {
      const made = (await (await ask(scene, {})).json()) as { id: string };
      const there = clientOf(scene, scene.via(1).http);
      // Written down without anybody waiting for it: known there a moment later.
      const read = await eventually(() => there.responses.retrieve(made.id));
      expect(read.output_text).toBe(`from ${made.id.slice(5, 6)}`);
    }
  });

  it("BH-31: encrypted reasoning goes to the account that made it, as it made it; without it where that is away", async () => {
    await using scene = await stage.scene({
      pool: ["A", "B"],
      providers: { A: OPENAI, B: OPENAI },
      policy: { strategy: "round_robin" },
    });
    scene.A.answer(sealing("A"));
    scene.B.answer(sealing("B"));
    const include = ["reasoning.encrypted_content"];
    let last: object[] = [];
    const firsts: Record<string, number> = {};
    for (let conversation = 0; conversation < 10; conversation += 1) {
      const input: object[] = [];
      const served = new Set<string>();
      for (let turn = 0; turn < 5; turn += 1) {
        input.push({ role: "user", content: `turn ${turn}` });
        const got = await ask(scene, { store: false, include, input }, turn < 2 ? scene : scene.via(1));
        expect(got.status).toBe(200);
        const { output } = (await got.json()) as { output: { content?: { text: string }[] }[] };
        served.add(output.at(-1)?.content?.[0]?.text ?? "");
        input.push(...output);
      }
      expect(served.size).toBe(1);
      const [name = ""] = served;
      firsts[name] = (firsts[name] ?? 0) + 1;
      if (name === "from A") last = input;
    }
    expect(firsts).toEqual({ "from A": 5, "from B": 5 });
    scene.A.answer(failure(500, { message: "broke" }));
    const got = await ask(scene, {
      store: false,
      include,
      input: [...last, { role: "user", content: "more" }],
    });
    expect(got.status).toBe(200);
    expect(await got.text()).toContain("from B");
    expect(scene.B.calls.at(-1)?.body.toString()).not.toContain("ENC-A");
  });
});

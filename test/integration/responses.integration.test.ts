import { gzipSync, zstdCompressSync } from "node:zlib";
import type OpenAI from "openai";
import { expect, it } from "vitest";
import { CH, DONE, EOF, FLUSH, json, OK, ROLE, sse, USAGE } from "@switchyard/testkit";
import type { Answer } from "@switchyard/testkit";
import { forEachForm } from "../support/gateway-stage.ts";
import {
  ask,
  AZURE,
  CHAT_ONLY,
  clientOf,
  dataOf,
  event,
  KEEPERS,
  ONE,
  OPENAI,
  PATH,
  pending,
  response,
  streamed,
} from "../support/responses.ts";

forEachForm("responses", {}, (stage) => {
  it.concurrent("P1: pass byte for byte with only the model replaced, whole and streamed", async () => {
    await using scene = await stage.scene(ONE);
    const stream = streamed("resp_1", "é 🌍");
    scene.A.answer((call) =>
      call.body.includes('"stream":true')
        ? sse([stream.slice(0, 333), FLUSH, stream.slice(333)])
        : json(200, response("resp_1", "hi")),
    );
    const got = await ask(scene, { stream: true, truncation: "auto", new_field: { kept: 1.1 } });
    expect(await got.text()).toBe(stream);
    expect(scene.A.calls[0]?.path).toBe(PATH);
    expect(scene.A.calls[0]?.json()).toEqual({
      model: "m-A",
      input: "hi",
      stream: true,
      truncation: "auto",
      new_field: { kept: 1.1 },
    });
    expect(await (await ask(scene, {})).text()).toBe(JSON.stringify(response("resp_1", "hi")));
  });

  it.concurrent("E6: fails over while only response.created has come, and from an answer that failed", async () => {
    await using scene = await stage.scene({ order: ["A", "B"], providers: KEEPERS.providers ?? {} });
    const failed = { ...response("resp_a", ""), status: "failed", output: [] };
    const error = { code: "server_error", message: "The model broke" };
    scene.A.answer(
      sse([
        event("response.created", { sequence_number: 0, response: pending("resp_a") }),
        FLUSH,
        event("response.failed", { sequence_number: 1, response: { ...failed, error } }),
        EOF,
      ]),
    );
    scene.B.answer(sse([streamed("resp_b", "from b")]));
    const got = await ask(scene, { stream: true });
    expect(await got.text()).toBe(streamed("resp_b", "from b"));
    expect(got.headers.get("x-ants-attempts")).toContain('"error":"server_error"');
    expect(scene.counts).toEqual({ A: 1, B: 1 });
  });

  it.concurrent("E6: a stream that breaks later ends with an error event with the next number", async () => {
    await using scene = await stage.scene(ONE);
    const begun = streamed("resp_1", "Half").split("event: response.completed")[0] as string;
    scene.A.answer(sse([begun, FLUSH, EOF]));
    const cut = dataOf(await (await ask(scene, { stream: true })).text());
    expect(cut.at(-1)).toMatchObject({ type: "error", sequence_number: 4 });
    expect(cut.some(({ type }) => type === "response.completed")).toBe(false);
  });

  it.concurrent("BH-32, E6: that number is the next one behind a ping too, of a translated stream", async () => {
    await using scene = await stage.scene({ order: ["A"], providers: CHAT_ONLY.providers ?? {} });
    scene.A.answer(sse([ROLE, CH({ content: "Half" }), FLUSH, ": ping\n\n", FLUSH, EOF]));
    const cut = dataOf(await (await ask(scene, { stream: true, store: false })).text());
    expect(cut.map(({ sequence_number: number }) => number)).toEqual(cut.map((_, place) => place));
    expect(cut.at(-1)).toMatchObject({ type: "error" });
  });

  it.concurrent.for([
    ["no output", json(200, response("resp_1", "", { output: [] }))],
    [
      "a failed response",
      json(
        200,
        response("resp_1", "", {
          status: "failed",
          output: [],
          error: { code: "server_error", message: "broke" },
        }),
      ),
    ],
    ["no JSON", json(200, "nothing")],
  ] satisfies [string, Answer][])("BH-07: %s is no answer", async ([, answer]) => {
    await using scene = await stage.scene({ order: ["A", "B"], providers: { A: OPENAI, B: AZURE } });
    scene.A.answer(answer);
    scene.B.answer(json(200, response("resp_b", "real")));
    const got = (await (await ask(scene, {})).json()) as OpenAI.Responses.Response;
    expect(got.id).toBe("resp_b");
    expect(scene.counts).toEqual({ A: 1, B: 1 });
  });

  it.concurrent("BH-14: CRLF, no space and a cut between CR and LF: both events pass", async () => {
    await using scene = await stage.scene({ ...ONE, deployments: { A: { price: { input: 1, output: 1 } } } });
    const created = `data:${JSON.stringify({ type: "response.created", sequence_number: 0, response: pending("resp_1") })}`;
    const completed = `data:${JSON.stringify({
      type: "response.completed",
      sequence_number: 1,
      response: response("resp_1", "", {
        output: [],
        model: "m-2026",
        usage: { input_tokens: 11, output_tokens: 19, total_tokens: 30 },
      }),
    })}`;
    const first = `event: response.created\r\n${created}\r\n\r`;
    const second = `\nevent: response.completed\r\n${completed}\r\n\r\n`;
    scene.A.answer(sse([first, FLUSH, second, EOF]));
    expect(await (await ask(scene, { stream: true })).text()).toBe(first + second);
  });

  it.concurrent("BH-32: a chat upstream serves with the whole event grammar", async () => {
    await using scene = await stage.scene({ order: ["A"], ...CHAT_ONLY });
    scene.A.answer(
      sse([
        ROLE,
        CH({ content: "Hel" }),
        FLUSH,
        CH({ content: "lo" }),
        CH({
          tool_calls: [
            { index: 0, id: "call_1", type: "function", function: { name: "f", arguments: '{"a"' } },
          ],
        }),
        FLUSH,
        CH({ tool_calls: [{ index: 0, function: { arguments: ":1}" } }] }),
        CH({}, "tool_calls"),
        USAGE(4, 6),
        DONE,
      ]),
    );
    const tools = [{ type: "function" as const, name: "f", strict: null, parameters: { type: "object" } }];
    const stream = clientOf(scene).responses.stream({ model: scene.model, input: "hi", tools });
    const types: string[] = [];
    const numbers: number[] = [];
    for await (const told of stream) {
      types.push(told.type);
      numbers.push(told.sequence_number);
    }
    const final = await stream.finalResponse();
    expect(types).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.output_item.added",
      "response.function_call_arguments.delta",
      "response.function_call_arguments.delta",
      "response.function_call_arguments.done",
      "response.output_item.done",
      "response.completed",
    ]);
    expect(numbers).toEqual(types.map((_, place) => place));
    expect(final.id).toMatch(/^resp_/u);
    expect(final).toMatchObject({
      status: "completed",
      output_text: "Hello",
      output: [
        { type: "message" },
        { type: "function_call", call_id: "call_1", name: "f", arguments: '{"a":1}' },
      ],
      usage: { input_tokens: 4, output_tokens: 6, total_tokens: 10 },
    });
    const sent = scene.A.calls[0]?.json() as { messages: object[]; tools: object[] };
    expect(sent.messages).toEqual([{ role: "user", content: "hi" }]);
    expect(sent.tools).toMatchObject([{ type: "function", function: { name: "f" } }]);
  });

  it.concurrent("BH-16, BH-32: a chat upstream that is cut ends with an error event, never with a completed", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    scene.A.answer(sse([ROLE, CH({ content: "Half an ans" }), FLUSH, EOF]));
    const told = dataOf(await (await ask(scene, { stream: true })).text());
    expect(told.at(-1)).toMatchObject({ type: "error" });
    expect(told.map(({ sequence_number }) => sequence_number)).toEqual(told.map((_, place) => place));
    expect(told.some(({ type }) => type === "response.completed")).toBe(false);
  });

  it.concurrent("BH-07, BH-32: whole answers of chat upstreams; one without choices fails over", async () => {
    await using scene = await stage.scene();
    scene.A.answer(json(200, { id: "c1", object: "chat.completion", choices: [], usage: {} }));
    scene.B.answer(OK("real"));
    const got = await clientOf(scene).responses.create({
      model: scene.model,
      input: "hi",
      metadata: { a: "b" },
    });
    expect(got).toMatchObject({ output_text: "real", status: "completed", metadata: { a: "b" } });
    expect(scene.counts).toEqual({ A: 1, B: 1 });
  });

  it.concurrent("P2: what a chat upstream can't do is refused by its name", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    for (const [fields, param] of [
      [{ tools: [{ type: "web_search" }] }, "tools.0.type"],
      [{ background: true }, "background"],
      [{ input: [{ type: "computer_call", id: "x" }] }, "input.0.type"],
    ] as const) {
      const got = await ask(scene, fields);
      expect(got.status).toBe(400);
      expect(await got.json()).toMatchObject({ error: { code: "not_translatable", param } });
    }
    expect(scene.counts).toEqual({ A: 0 });
  });

  it.concurrent.for(["zstd", "gzip"])(
    "BH-39: a body in %s is decoded before anything looks at it",
    async (coding) => {
      await using scene = await stage.scene({ order: ["A"] });
      scene.A.answer(OK("pong"));
      const plain = JSON.stringify({ model: scene.model, input: "ping", stream: false });
      const body = coding === "gzip" ? gzipSync(plain) : zstdCompressSync(plain);
      const got = await fetch(scene.http + PATH, {
        method: "POST",
        headers: { "content-encoding": coding, authorization: `Bearer ${scene.key}` },
        body: new Uint8Array(body),
      });
      expect(got.status).toBe(200);
      expect(await got.json()).toMatchObject({ object: "response", status: "completed" });
      expect(scene.A.calls[0]?.json()).toEqual({
        model: "m-A",
        messages: [{ role: "user", content: "ping" }],
      });
    },
  );

  it.concurrent("BH-34: errors have OpenAI's envelope", async () => {
    await using scene = await stage.scene(ONE);
    const post = (body: string, key: string): Promise<Response> =>
      fetch(scene.http + PATH, { method: "POST", headers: { authorization: `Bearer ${key}` }, body });
    for (const [body, key, status, type] of [
      ['{"model":', scene.key, 400, "invalid_request_error"],
      [JSON.stringify({ model: scene.model, input: "x" }), "wrong", 401, "authentication_error"],
      [JSON.stringify({ model: "unknown", input: "x" }), scene.key, 403, "permission_error"],
    ] as const) {
      const got = await post(body, key);
      expect(got.status).toBe(status);
      expect(await got.json()).toMatchObject({ error: { type, param: null, code: expect.any(String) } });
    }
  });
});

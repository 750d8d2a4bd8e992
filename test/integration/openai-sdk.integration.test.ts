import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  PermissionDeniedError,
  RateLimitError,
} from "openai";
import { expect, it } from "vitest";
import {
  asAsked,
  CH,
  DONE,
  embeddings,
  eventually,
  failure,
  FLUSH,
  HANG,
  json,
  OK,
  RESET,
  ROLE,
  RST,
  sse,
  tooMany,
  USAGE,
} from "@switchyard/testkit";
import type { Scene } from "../support/gateway-scene.ts";
import { forEachForm } from "../support/gateway-stage.ts";

const MESSAGES = [{ role: "user" as const, content: "hi" }];
const UNCOOLED = { order: ["A"], policy: { bench: { failures: 0 } } } as const;

function clientOf(scene: Scene, options: { maxRetries?: number; apiKey?: string } = {}): OpenAI {
  return new OpenAI({ baseURL: `${scene.http}/v1`, apiKey: scene.key, maxRetries: 0, ...options });
}

forEachForm("the openai package", {}, (stage) => {
  it.concurrent("completes a chat", async () => {
    await using scene = await stage.scene();
    scene.A.answer(OK("hello"));
    const { data, response, request_id } = await clientOf(scene)
      .chat.completions.create({ model: scene.model, messages: MESSAGES })
      .withResponse();
    expect(data.choices[0]?.message.content).toBe("hello");
    expect(data.usage?.total_tokens).toBe(5);
    expect(response.headers.get("x-ants-attempts")).toContain('"outcome":"ok"');
    expect(request_id).toBe(response.headers.get("x-request-id"));
  });

  it.concurrent("streams a chat with its usage, after a failover", async () => {
    await using scene = await stage.scene();
    scene.A.answer(failure(500, { message: "broke" }));
    scene.B.answer(
      sse([ROLE, FLUSH, CH({ content: "he" }), FLUSH, CH({ content: "llo" }), CH({}, "stop"), USAGE(), DONE]),
    );
    const stream = await clientOf(scene).chat.completions.create({
      model: scene.model,
      messages: MESSAGES,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    let total: number | undefined;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      total = chunk.usage?.total_tokens ?? total;
    }
    expect(text).toBe("hello");
    expect(total).toBe(5);
  });

  it.concurrent("puts streamed tool calls together", async () => {
    await using scene = await stage.scene();
    const part = (call: object): string => CH({ tool_calls: [call] });
    scene.A.answer(
      sse([
        ROLE,
        part({ index: 0, id: "call_1", type: "function", function: { name: "f", arguments: "" } }),
        FLUSH,
        part({ index: 0, function: { arguments: '{"a"' } }),
        FLUSH,
        part({ index: 0, function: { arguments: ":1}" } }),
        CH({}, "tool_calls"),
        DONE,
      ]),
    );
    const stream = clientOf(scene).chat.completions.stream({
      model: scene.model,
      messages: MESSAGES,
      tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
    });
    const { choices } = await stream.finalChatCompletion();
    expect(choices[0]?.finish_reason).toBe("tool_calls");
    expect(choices[0]?.message.tool_calls).toMatchObject([
      { id: "call_1", function: { name: "f", arguments: '{"a":1}' } },
    ]);
  });

  it.concurrent.for([true, false])(
    "BH-29 gets vectors whatever the provider makes of base64, which it does: %s",
    async (base64) => {
      await using scene = await stage.scene(UNCOOLED);
      scene.A.answer(
        embeddings(
          [
            [0.25, -1, 3.5],
            [0.5, 2, 0],
          ],
          { base64 },
        ),
      );
      const { data, usage } = await clientOf(scene).embeddings.create({
        model: scene.model,
        input: ["p", "q"],
      });
      expect(scene.A.calls[0]?.json()).toMatchObject({ encoding_format: "base64", model: "m-A" });
      expect(data.map(({ embedding }) => [...embedding])).toEqual([
        [0.25, -1, 3.5],
        [0.5, 2, 0],
      ]);
      expect(usage.prompt_tokens).toBe(2);
    },
  );

  it.concurrent("BH-30 sends token arrays on as they are", async () => {
    await using scene = await stage.scene(UNCOOLED);
    scene.A.answer(embeddings([[1], [2]]));
    const input = [
      [15_339, 1_917],
      [40, 939],
    ];
    const { data } = await clientOf(scene).embeddings.create({
      model: scene.model,
      input,
      encoding_format: "float",
    });
    expect(data.map(({ embedding }) => embedding)).toEqual([[1], [2]]);
    expect(scene.A.calls[0]?.json()).toMatchObject({ input });
  });

  it.concurrent("lists the groups that the key may call", async () => {
    await using scene = await stage.scene({ groups: { h: { order: ["A"] } } });
    const models = await clientOf(scene).models.list();
    expect(models.data.map(({ id }) => id).toSorted()).toEqual(
      [scene.groupOf("g"), scene.groupOf("h")].toSorted(),
    );
    expect(await clientOf(scene).models.retrieve(scene.model)).toMatchObject({
      id: scene.model,
      object: "model",
    });
    await expect(clientOf(scene).models.retrieve("nobody's")).rejects.toBeInstanceOf(APIError);
  });

  it.concurrent("throws the class that fits", async () => {
    await using scene = await stage.scene(UNCOOLED);
    const ask = (client = clientOf(scene), model = scene.model): Promise<unknown> =>
      client.chat.completions.create({ model, messages: MESSAGES });
    await expect(ask(clientOf(scene, { apiKey: "ck-wrong" }))).rejects.toBeInstanceOf(AuthenticationError);
    await expect(ask(clientOf(scene), "someone-elses")).rejects.toBeInstanceOf(PermissionDeniedError);
    scene.A.answer(
      failure(400, { message: "bad", type: "invalid_request_error", param: "n", code: "bad_n" }),
    );
    await expect(ask()).rejects.toMatchObject({
      status: 400,
      code: "bad_n",
      param: "n",
      type: "invalid_request_error",
    });
    await expect(ask()).rejects.toBeInstanceOf(BadRequestError);
    scene.A.answer(tooMany({ "Retry-After": "1" }));
    await expect(ask()).rejects.toBeInstanceOf(RateLimitError);
    scene.A.answer(RESET);
    await expect(ask()).rejects.toMatchObject({ status: 502, code: "upstream_unreachable" });
    scene.A.answer(json(200, { choices: [] }));
    await expect(ask()).rejects.toBeInstanceOf(InternalServerError);
  });

  it.concurrent("BH-35 waits by itself as long as the provider's Retry-After says", async () => {
    await using scene = await stage.scene(UNCOOLED);
    scene.A.script([tooMany({ "Retry-After": "2" }), OK("late")]);
    const client = clientOf(scene, { maxRetries: 1 });
    const reply = await client.chat.completions.create({ model: scene.model, messages: MESSAGES });
    expect(reply.choices[0]?.message.content).toBe("late");
    const [first, second] = scene.A.calls;
    expect((second?.at ?? Number.NaN) - (first?.at ?? Number.NaN)).toBeGreaterThan(1_900);
    expect(scene.counts).toEqual({ A: 2 });
  });

  it.concurrent("E6 throws when a stream breaks after it began", async () => {
    await using scene = await stage.scene();
    scene.A.answer(sse([ROLE, CH({ content: "half" }), FLUSH, RST]));
    let text = "";
    const read = async (): Promise<void> => {
      const stream = await clientOf(scene).chat.completions.create({
        model: scene.model,
        messages: MESSAGES,
        stream: true,
      });
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    };
    await expect(read()).rejects.toBeInstanceOf(APIError);
    expect(text).toBe("half");
  });

  it.concurrent("BH-18 aborts the provider's call with its own", async () => {
    await using scene = await stage.scene();
    scene.A.answer(sse([ROLE, CH({ content: "one" }), FLUSH, HANG]));
    const stream = await clientOf(scene).chat.completions.create({
      model: scene.model,
      messages: MESSAGES,
      stream: true,
    });
    for await (const chunk of stream) {
      if (chunk.choices[0]?.delta.content === "one") stream.controller.abort();
    }
    await eventually(() => expect(scene.A.calls[0]?.abandoned).toBe(true));
    expect(scene.counts).toEqual({ A: 1, B: 0 });
  });

  it.concurrent("asks many times at once", async () => {
    await using scene = await stage.scene({ pool: ["A", "B"] });
    for (const upstream of [scene.A, scene.B]) upstream.answer(asAsked("hello"));
    const client = clientOf(scene);
    const asked = Array.from({ length: 100 }, () =>
      client.chat.completions.create({ model: scene.model, messages: MESSAGES }),
    );
    for (const { choices } of await Promise.all(asked)) expect(choices[0]?.message.content).toBe("hello");
    expect(scene.A.calls.length + scene.B.calls.length).toBe(100);
    expect(Math.min(scene.A.calls.length, scene.B.calls.length)).toBeGreaterThan(20);
  });
});

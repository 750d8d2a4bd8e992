import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import {
  CH,
  cutAt,
  data,
  DONE,
  drip,
  EOF,
  FLUSH,
  HEALTHY,
  OK,
  rawHttp,
  ROLE,
  RST,
  sse,
} from "@switchyard/testkit";
import type { StreamReply } from "../support/gateway-client.ts";
import { forEachForm } from "../support/gateway-stage.ts";

const TOOL = { type: "function", function: { name: "lookup", parameters: { type: "object" } } };
const CALL = {
  index: 0,
  id: "call_7",
  type: "function",
  function: { name: "lookup", arguments: '{"q":"ca' },
};

function expectBroken(reply: StreamReply, shown: string): void {
  expect(reply.status).toBe(200);
  expect(reply.text).toBe(shown);
  expect(reply.errors).toHaveLength(1);
  const [error] = reply.errors as { message?: unknown; type?: unknown }[];
  expect(error?.message).toEqual(expect.any(String));
  expect(error?.type).toEqual(expect.any(String));
  expect(JSON.parse(reply.events.at(-1)?.data ?? "{}")).toHaveProperty("error");
  expect(reply.bytes.toString()).not.toMatch(/\[DONE\]|"finish_reason":"/);
}

forEachForm("a stream", {}, (stage) => {
  it.concurrent("BH-06 ends with an error event when it breaks after text, and nobody else is asked (E6, invariant 5)", async () => {
    await using scene = await stage.scene();
    scene.A.answer(
      sse([ROLE, FLUSH, CH({ content: "Let me look. " }), FLUSH, CH({ tool_calls: [CALL] }), FLUSH, RST]),
    );
    scene.B.answer(HEALTHY("prose from b"));
    const messages = [{ role: "user", content: "find it" }];
    const reply = await scene.stream({ messages, tools: [TOOL], tool_choice: "auto" });
    expectBroken(reply, "Let me look. ");
    expect(reply.events).toHaveLength(4);
    expect(reply.bytes.toString()).toContain('"call_7"');
    expect(scene.counts).toEqual({ A: 1, B: 0 });
    expect((await scene.stream({ messages })).text).toBe("prose from b");
    expect(scene.counts).toEqual({ A: 1, B: 1 });
    expect(scene.B.calls[0]?.json()).toMatchObject({ messages });
  });

  it.concurrent("BH-16 takes an end without a finish for a failure (E6)", async () => {
    await using scene = await stage.scene();
    scene.A.answer(sse([ROLE, FLUSH, CH({ content: "Half an ans" }), FLUSH, EOF]));
    scene.B.answer(HEALTHY("whole"));
    const reply = await scene.stream();
    expectBroken(reply, "Half an ans");
    expect(reply.failure).toBeUndefined();
    expect(scene.counts).toEqual({ A: 1, B: 0 });
    expect((await scene.stream()).text).toBe("whole");
    expect(scene.counts).toEqual({ A: 1, B: 1 });
  });

  it.concurrent("BH-13 keeps characters whole that chunks cut", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    const event = data(
      '{"id":"c1","object":"chat.completion.chunk","created":1,"model":"u","choices":[{"index":0,"delta":{"content":"你好 🌍"},"finish_reason":null}]}',
    );
    expect(Buffer.from(event).indexOf("好")).toBe(119);
    expect(Buffer.from(event).indexOf("🌍")).toBe(123);
    scene.A.answer(sse([...cutAt(event, [120, 124, 126]), FLUSH, ...drip(event), CH({}, "stop"), DONE]));
    const reply = await scene.stream();
    expect(reply.text).toBe("你好 🌍你好 🌍");
    expect(reply.bytes.includes(Buffer.from([0xef, 0xbf, 0xbd]))).toBe(false);
    expect(reply.done).toBe(true);
  });

  it.concurrent("BH-13 keeps an emoji that two events share as escapes", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    const half = (escape: string): string =>
      data(
        `{"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"${escape}"},"finish_reason":null}]}`,
      );
    scene.A.answer(sse([ROLE, half("\\ud83c"), FLUSH, half("\\udf0d"), CH({}, "stop"), DONE]));
    expect((await scene.stream()).text).toBe("🌍");
  });

  it.concurrent("BH-13 sends a request body of 2 MiB in small writes on as it came", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    scene.A.answer(OK("read"));
    const content = "漢字かな交じり文".repeat(87_382);
    const body = Buffer.from(
      `{"messages":[{"role":"user","content":"${content}"}],"model":"${scene.model}"}`,
    );
    expect(body.length).toBeGreaterThan(2 * 1024 * 1024);
    const pieces: Buffer[] = [];
    for (let at = 0; at < body.length; at += 1_000) pieces.push(body.subarray(at, at + 1_000));
    const head = [
      "POST /v1/chat/completions HTTP/1.1",
      "Host: gateway",
      `Authorization: Bearer ${scene.key}`,
      "Content-Type: application/json",
      `Content-Length: ${body.length}`,
    ];
    await using client = await rawHttp(scene.port, [`${head.join("\r\n")}\r\n\r\n`, ...pieces], { gapMs: 0 });
    expect((await client.response(15_000)).status).toBe(200);
    const seen = scene.A.calls[0]?.body ?? Buffer.alloc(0);
    const expected = body.toString().replace(`"model":"${scene.model}"`, '"model":"m-A"');
    expect(sha256(seen)).toBe(sha256(Buffer.from(expected)));
  });

  const usage = '"usage":{"prompt_tokens":4,"completion_tokens":1,"total_tokens":5}';
  const chunk = (choices: string): string =>
    data(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"u",${choices}${usage}}`);
  const forms = [
    ["an empty list", chunk('"choices":[],')],
    ["null", chunk('"choices":null,')],
    ["missing", chunk("")],
  ] as const;

  it.concurrent.for(forms)("BH-15 passes one usage chunk whose choices are %s (P1)", async ([, last]) => {
    await using scene = await stage.scene({ order: ["A"] });
    scene.A.answer(
      sse([ROLE, FLUSH, CH({ content: "ok" }), FLUSH, CH({}, "stop"), FLUSH, last, FLUSH, DONE]),
    );
    const reply = await scene.stream({ stream_options: { include_usage: true } });
    expect(reply.text).toBe("ok");
    const parsed = reply.events.slice(0, -1).map((event) => JSON.parse(event.data) as Chunk);
    expect(parsed.filter(({ usage: told }) => told !== undefined && told !== null)).toHaveLength(1);
    expect(parsed.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 4, total_tokens: 5 } });
    expect(parsed.at(-2)?.choices[0]?.finish_reason).toBe("stop");
    expect(reply.events.at(-1)?.data).toBe("[DONE]");
  });

  it.concurrent.for(forms)(
    "BH-15 takes out the usage chunk that only we asked for, choices %s (P4)",
    async ([, last]) => {
      const priced = { A: { price: { input: 1, output: 2 } } };
      await using scene = await stage.scene({ order: ["A"], deployments: priced });
      scene.A.answer(
        sse([ROLE, FLUSH, CH({ content: "ok" }), FLUSH, CH({}, "stop"), FLUSH, last, FLUSH, DONE]),
      );
      const reply = await scene.stream();
      expect(scene.A.calls[0]?.json()).toMatchObject({ stream_options: { include_usage: true } });
      expect(reply.text).toBe("ok");
      expect(reply.bytes.toString()).not.toContain('"usage":{');
      const parsed = reply.events.slice(0, -1).map((event) => JSON.parse(event.data) as Chunk);
      for (const { choices } of parsed) expect(choices).not.toHaveLength(0);
      expect(reply.done).toBe(true);
    },
  );

  it.concurrent("BH-15 goes on after Azure's first chunk with no choice", async () => {
    await using scene = await stage.scene({
      order: ["A"],
      providers: { A: { family: "azure_openai", api_version: "2024-10-21" } },
    });
    const filters = data(
      '{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0}]}',
    );
    scene.A.answer(sse([filters, FLUSH, ROLE, FLUSH, CH({ content: "ok" }), CH({}, "stop"), DONE]));
    const reply = await scene.stream();
    expect(reply.status).toBe(200);
    expect(reply.text).toBe("ok");
    expect(reply.done).toBe(true);
    expect(reply.errors).toEqual([]);
  });
});

interface Chunk {
  readonly choices: readonly { readonly finish_reason: string | null }[];
  readonly usage?: object | null;
}

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

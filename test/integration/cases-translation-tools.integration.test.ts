import { expect, it } from "vitest";
import { EOF, FLUSH, G, json, sse } from "@switchyard/testkit";
import { forEachForm } from "../support/gateway-stage.ts";
import {
  block,
  bodyOf,
  call,
  FAMILIES,
  jsonDelta,
  message,
  result,
  SAYS,
  stream,
  streamed,
  strict,
  tool,
  toolUse,
  wholeOf,
} from "../support/translation-cases.ts";
import { converse } from "../support/vendors/converse.ts";
import { messages as anthropic } from "../support/vendors/messages.ts";

forEachForm("reported faults of translated tools", {}, (stage) => {
  it.concurrent("BH-19: parallel calls of Anthropic keep their own index, streamed and at once", async () => {
    await using scene = await stage.scene(FAMILIES.anth);
    const tools = [tool("a"), tool("b")];
    const expected = {
      text: "Two lookups.",
      calls: [
        { id: "toolu_1", function: { name: "a", arguments: '{"x":1}' } },
        { id: "toolu_2", function: { name: "b", arguments: '{"y":"é"}' } },
      ],
      finishes: ["tool_calls"],
    };
    scene.A.answer(
      stream(
        block(0, { type: "text", text: "" }, [{ type: "text_delta", text: "Two lookups." }]),
        block(1, toolUse("toolu_1", "a"), [jsonDelta('{"x":'), jsonDelta("1}")]),
        block(2, toolUse("toolu_2", "b"), [jsonDelta('{"y":"'), jsonDelta('é"}')]),
      ),
    );
    expect(await streamed(scene, { tools })).toMatchObject({ ...expected, done: true });
    scene.A.answer(
      json(
        200,
        message(
          [
            { type: "text", text: "Two lookups." },
            { ...toolUse("toolu_1", "a"), input: { x: 1 } },
            { ...toolUse("toolu_2", "b"), input: { y: "é" } },
          ],
          21,
        ),
      ),
    );
    expect(wholeOf(await scene.ask({ tools }))).toMatchObject(expected);
  });

  it.concurrent("BH-19: two calls in one chunk of Gemini's", async () => {
    await using scene = await stage.scene(FAMILIES.gemini);
    const parts = ["a", "b"].map((name, x) => ({ functionCall: { name, args: { x } } }));
    const chunk = { candidates: [{ index: 0, content: { role: "model", parts }, finishReason: "STOP" }] };
    scene.A.answer(sse([G(chunk), EOF]));
    const heard = await streamed(scene, { tools: [tool("a"), tool("b")] });
    expect(heard).toMatchObject({
      calls: [
        { function: { name: "a", arguments: '{"x":0}' } },
        { function: { name: "b", arguments: '{"x":1}' } },
      ],
      finishes: ["tool_calls"],
      done: true,
    });
    expect(new Set(heard.calls.map(({ id }) => id)).size).toBe(2);
  });

  it.concurrent("BH-20: a call without arguments is {}, and comes back as an object", async () => {
    await using scene = await stage.scene(FAMILIES.anth);
    const tools = [tool("snooze")];
    scene.A.answer(stream(block(0, toolUse("toolu_9", "snooze"), [jsonDelta("")])));
    const { calls } = await streamed(scene, { tools });
    expect(calls).toMatchObject([{ id: "toolu_9", function: { name: "snooze", arguments: "{}" } }]);
    const again = {
      tools,
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", content: null, tool_calls: [call("toolu_9", "snooze", "")] },
        result("toolu_9", "ok"),
      ],
    };
    scene.A.answer(strict(anthropic, SAYS.anth));
    expect((await scene.ask(again)).content).toBe("ok");
    expect(scene.A.calls[1]?.body.toString()).toContain(
      '{"type":"tool_use","id":"toolu_9","name":"snooze","input":{}}',
    );
    for (const family of ["bedrock", "gemini"] as const) {
      await using other = await stage.scene(FAMILIES[family]);
      other.A.answer(SAYS[family]);
      expect((await other.ask(again)).content).toBe("ok");
      expect(other.A.calls[0]?.body.toString()).toMatch(/"(input|args)":\{\}/u);
    }
  });

  it.concurrent.for([
    ["call_1", "call_2"],
    ["call_2", "call_1"],
  ])("BH-21: results given as %s, %s stand in one user turn, in the calls' order", async (given) => {
    const said: Readonly<Record<string, string>> = { call_1: "one", call_2: "" };
    const messages = [
      { role: "user", content: "go" },
      {
        role: "assistant",
        content: "",
        tool_calls: [call("call_1", "f", '{"n":1}'), call("call_2", "f", '{"n":2}')],
      },
      ...given.map((id) => result(id, said[id] ?? "")),
      { role: "user", content: "and?" },
    ];
    await using bedrock = await stage.scene(FAMILIES.bedrock);
    bedrock.A.answer(strict(converse, SAYS.bedrock));
    expect((await bedrock.ask({ messages, tools: [tool("f")] })).content).toBe("ok");
    expect(bodyOf(bedrock)["messages"]).toEqual([
      { role: "user", content: [{ text: "go" }] },
      {
        role: "assistant",
        content: [
          { toolUse: { toolUseId: "call_1", name: "f", input: { n: 1 } } },
          { toolUse: { toolUseId: "call_2", name: "f", input: { n: 2 } } },
        ],
      },
      {
        role: "user",
        content: [
          { toolResult: { toolUseId: "call_1", content: [{ text: "one" }] } },
          { toolResult: { toolUseId: "call_2", content: [] } },
          { text: "and?" },
        ],
      },
    ]);
    await using anth = await stage.scene(FAMILIES.anth);
    anth.A.answer(strict(anthropic, SAYS.anth));
    expect((await anth.ask({ messages, tools: [tool("f")] })).content).toBe("ok");
    const turns = bodyOf(anth)["messages"] as {
      role: string;
      content: { type: string; tool_use_id?: string }[];
    }[];
    expect(turns[2]?.content.map(({ tool_use_id: id }) => id)).toEqual(["call_1", "call_2", undefined]);
    expect(turns.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(turns[2]?.content.map(({ type }) => type)).toEqual(["tool_result", "tool_result", "text"]);
    expect([bedrock.counts, anth.counts]).toEqual([{ A: 1 }, { A: 1 }]);
  });

  it.concurrent("BH-22: a STOP that comes one chunk after the call, to callers of chat and messages, and at once", async () => {
    await using scene = await stage.scene(FAMILIES.gemini);
    const call_chunk = { role: "model", parts: [{ functionCall: { name: "f", args: { c: "Oslo" } } }] };
    const usageMetadata = {
      promptTokenCount: 10,
      candidatesTokenCount: 4,
      thoughtsTokenCount: 6,
      totalTokenCount: 20,
    };
    const last = { index: 0, content: { role: "model", parts: [{ text: "" }] }, finishReason: "STOP" };
    scene.A.answer(({ path }) =>
      path.includes("streamGenerateContent")
        ? sse([
            G({ candidates: [{ index: 0, content: call_chunk }] }),
            FLUSH,
            G({ candidates: [last], usageMetadata }),
            EOF,
          ])
        : json(200, { candidates: [{ index: 0, content: call_chunk, finishReason: "STOP" }], usageMetadata }),
    );
    const tools = [tool("f")];
    const heard = await streamed(scene, { tools, stream_options: { include_usage: true } });
    expect(heard).toMatchObject({
      text: "",
      calls: [
        { id: expect.stringMatching(/./u) as string, function: { name: "f", arguments: '{"c":"Oslo"}' } },
      ],
      finishes: ["tool_calls"],
      done: true,
    });
    expect(heard.raw).toContain('"completion_tokens":10');
    expect(heard.raw.match(/"role":/gu)).toHaveLength(1);
    expect(wholeOf(await scene.ask({ tools })).finishes).toEqual(["tool_calls"]);
    for (const asked of [true, false]) {
      const own = { stream: asked, max_tokens: 9, tools: [{ name: "f", input_schema: { type: "object" } }] };
      const got = await scene.send(own, { path: "/v1/messages" });
      expect(await got.text()).toContain('"stop_reason":"tool_use"');
    }
  });

  it.concurrent("BH-23: a flag that the caller did not send changes nothing, and none is lost", async () => {
    await using scene = await stage.scene(FAMILIES.anth);
    scene.A.answer(SAYS.anth);
    const f = { type: "function", function: { name: "f" } };
    const disabled = { disable_parallel_tool_use: true };
    const rows: readonly (readonly [object, object | undefined])[] = [
      [{}, undefined],
      [{ parallel_tool_calls: false }, { type: "auto", ...disabled }],
      [{ parallel_tool_calls: true }, undefined],
      [
        { tool_choice: "auto", parallel_tool_calls: false },
        { type: "auto", ...disabled },
      ],
      [{ tool_choice: "required" }, { type: "any" }],
      [
        { tool_choice: "required", parallel_tool_calls: false },
        { type: "any", ...disabled },
      ],
      [
        { tool_choice: f, parallel_tool_calls: false },
        { type: "tool", name: "f", ...disabled },
      ],
      [{ tool_choice: "none" }, { type: "none" }],
    ];
    for (const [place, [fields, choice]] of rows.entries()) {
      expect((await scene.ask({ tools: [tool("f"), tool("g")], ...fields })).status).toBe(200);
      expect(bodyOf(scene, place)["tool_choice"]).toEqual(choice);
    }
    await scene.ask({ parallel_tool_calls: false });
    expect(bodyOf(scene, rows.length)).not.toHaveProperty("tool_choice");
    expect(scene.counts).toEqual({ A: rows.length + 1 });
  });

  it.concurrent("BH-23: the table backwards", async () => {
    await using scene = await stage.scene(FAMILIES.oai);
    const rows: readonly (readonly [object | undefined, object])[] = [
      [undefined, {}],
      [
        { type: "auto", disable_parallel_tool_use: true },
        { tool_choice: "auto", parallel_tool_calls: false },
      ],
      [{ type: "any" }, { tool_choice: "required" }],
      [{ type: "tool", name: "f" }, { tool_choice: { type: "function", function: { name: "f" } } }],
      [{ type: "none" }, { tool_choice: "none" }],
    ];
    const tools = [{ name: "f", input_schema: { type: "object" } }];
    for (const [place, [tool_choice, expected]] of rows.entries()) {
      const got = await scene.send({ max_tokens: 9, tools, tool_choice }, { path: "/v1/messages" });
      expect(got.status).toBe(200);
      const { tool_choice: choice, parallel_tool_calls: parallel } = bodyOf(scene, place);
      expect(JSON.parse(JSON.stringify({ tool_choice: choice, parallel_tool_calls: parallel }))).toEqual(
        expected,
      );
    }
  });

  it.concurrent("BH-24: an image in a result follows the whole run of tool messages", async () => {
    await using scene = await stage.scene(FAMILIES.oai);
    const source = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" };
    const use = (id: string, p: string): object => ({ type: "tool_use", id, name: "read", input: { p } });
    const got = await scene.send(
      {
        max_tokens: 9,
        tools: [{ name: "read", input_schema: { type: "object" } }],
        messages: [
          { role: "user", content: "read both" },
          { role: "assistant", content: [use("t1", "a.png"), use("t2", "b.txt")] },
          {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: "t1", content: [{ type: "image", source }] },
              { type: "tool_result", tool_use_id: "t2", content: "bee", is_error: true },
              { type: "text", text: "compare" },
            ],
          },
        ],
      },
      { path: "/v1/messages" },
    );
    expect(got.status).toBe(200);
    const sent = bodyOf(scene)["messages"] as { role: string; content: unknown; tool_call_id?: string }[];
    expect(sent.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool", "user"]);
    const [, , first, second, user] = sent;
    expect([first?.tool_call_id, second?.tool_call_id]).toEqual(["t1", "t2"]);
    expect(first?.content).toEqual(expect.any(String));
    expect(first?.content).not.toContain("iVBORw0KGgo");
    expect(second?.content).toMatch(/error.*bee/u);
    expect(user?.content).toEqual(
      expect.arrayContaining([
        { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
        { type: "text", text: "compare" },
      ]),
    );
  });

  it.concurrent("BH-28: 19 digits survive from Anthropic, at once and in pieces, and to every family", async () => {
    await using scene = await stage.scene(FAMILIES.anth);
    const text = JSON.stringify(message([toolUse("toolu_1", "f")], 2));
    const body = text.replace('"input":{}', '"input":{"id":9007199254740993,"f":1.10}');
    scene.A.answer({ ...json(200, {}), steps: [body] });
    const whole = await scene.ask({ tools: [tool("f")] });
    expect(wholeOf(whole).calls[0]?.function.arguments).toContain("9007199254740993");
    scene.A.answer(
      stream(block(0, toolUse("toolu_1", "f"), [jsonDelta('{"id":90071992'), jsonDelta("54740993}")])),
    );
    const { calls, raw } = await streamed(scene, { tools: [tool("f")] });
    expect(calls[0]?.function.arguments).toBe('{"id":9007199254740993}');
    expect(whole.text + raw).not.toContain("9007199254740992");
    const messages = [
      { role: "user", content: "x" },
      { role: "assistant", content: null, tool_calls: [call("c1", "f", '{"id":9007199254740993}')] },
      result("c1", "r"),
    ];
    for (const family of ["anth", "bedrock", "gemini"] as const) {
      await using other = await stage.scene(FAMILIES[family]);
      other.A.answer(SAYS[family]);
      expect((await other.ask({ messages, tools: [tool("f")] })).content).toBe("ok");
      expect(other.A.calls[0]?.body.toString()).toContain("9007199254740993");
    }
  });
});

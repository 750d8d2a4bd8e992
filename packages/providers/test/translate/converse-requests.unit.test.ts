import { describe, expect, it } from "vitest";
import type { Endpoint } from "@switchyard/core";
import type { TranslationFault } from "../../src/translate/fault.ts";
import { planOf, sent } from "../support/exchange.ts";
import { faultOf } from "../support/fault.ts";

const CLAUDE = "us.anthropic.claude-haiku-4-5-20251001-v1:0";
const HI = { role: "user", content: "hi" };
const TOOL = { type: "function", function: { name: "f", parameters: { type: "object" } } };

function converse(fields: object, model = CLAUDE, endpoint: Endpoint = "chat"): Record<string, unknown> {
  return sent(planOf(endpoint, "bedrock", { model: "g", messages: [HI], ...fields }, { model })).json;
}

const calls = (...ids: readonly string[]): object[] =>
  ids.map((id, place) => ({
    id,
    type: "function",
    function: { name: "f", arguments: `{"n":${place + 1}}` },
  }));

describe("requests", () => {
  it.each([[["call_1", "call_2"]], [["call_2", "call_1"]]])(
    "BH-21: results in the order %j stand in one user turn, in the calls' order, the user's words after them",
    (order) => {
      const said: Readonly<Record<string, string>> = { call_1: "one", call_2: "" };
      const body = converse({
        messages: [
          { role: "user", content: "go" },
          { role: "assistant", content: "", tool_calls: calls("call_1", "call_2") },
          ...order.map((id) => ({ role: "tool", tool_call_id: id, content: said[id] })),
          { role: "user", content: "and?" },
        ],
      });
      expect(body["messages"]).toStrictEqual([
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
      // The API wants what was called declared.
      expect(body["toolConfig"]).toStrictEqual({
        tools: [{ toolSpec: { name: "f", inputSchema: { json: { type: "object" } } } }],
      });
      expect(body["additionalModelRequestFields"]).toStrictEqual({ tool_choice: { type: "none" } });
    },
  );

  it("BH-20, BH-28: empty arguments are an object, digits stay", () => {
    const plan = planOf("chat", "bedrock", {
      model: "g",
      tools: [TOOL],
      messages: [
        HI,
        {
          role: "assistant",
          tool_calls: [
            { id: "a", type: "function", function: { name: "f", arguments: "" } },
            { id: "b", type: "function", function: { name: "f", arguments: '{"id":9007199254740993}' } },
          ],
        },
      ],
    });
    expect(sent(plan).text).toContain('"toolUseId":"a","name":"f","input":{}');
    expect(sent(plan).text).toContain('"input":{"id":9007199254740993}');
  });

  it("BH-25: each breakpoint becomes a cache point after its block", () => {
    const mark = { type: "ephemeral" };
    const body = converse(
      {
        max_tokens: 9,
        system: [{ type: "text", text: "S1", cache_control: mark }],
        tools: [{ name: "f", input_schema: { type: "object" }, cache_control: { ...mark, ttl: "1h" } }],
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "U1", cache_control: mark },
              { type: "text", text: "U2" },
            ],
          },
        ],
        cache_control: mark,
      },
      CLAUDE,
      "messages",
    );
    const point = { cachePoint: { type: "default" } };
    expect(body).toStrictEqual({
      messages: [{ role: "user", content: [{ text: "U1" }, point, { text: "U2" }, point] }],
      system: [{ text: "S1" }, point],
      inferenceConfig: { maxTokens: 9 },
      toolConfig: {
        tools: [
          { toolSpec: { name: "f", inputSchema: { json: { type: "object" } } } },
          { cachePoint: { type: "default", ttl: "1h" } },
        ],
      },
    });
  });

  it.each([
    [undefined, undefined, undefined, undefined],
    [undefined, false, undefined, { type: "auto", disable_parallel_tool_use: true }],
    [undefined, true, undefined, undefined],
    ["auto", undefined, { auto: {} }, undefined],
    ["required", undefined, { any: {} }, undefined],
    ["required", false, undefined, { type: "any", disable_parallel_tool_use: true }],
    [{ type: "function", function: { name: "f" } }, undefined, { tool: { name: "f" } }, undefined],
    [
      { type: "function", function: { name: "f" } },
      false,
      undefined,
      { type: "tool", name: "f", disable_parallel_tool_use: true },
    ],
  ])("BH-23: tool_choice %j with parallel_tool_calls %j", (choice, parallel, toolChoice, own) => {
    const body = converse({ tools: [TOOL], tool_choice: choice, parallel_tool_calls: parallel });
    expect((body["toolConfig"] as { toolChoice?: object }).toolChoice).toStrictEqual(toolChoice);
    expect(body["additionalModelRequestFields"]).toStrictEqual(
      own === undefined ? undefined : { tool_choice: own },
    );
  });

  it("tool_choice none takes the tools away where nothing was called, else only Claude can be told", () => {
    expect(converse({ tools: [TOOL], tool_choice: "none" })["toolConfig"]).toBeUndefined();
    const messages = [HI, { role: "assistant", tool_calls: calls("a") }];
    expect(converse({ tools: [TOOL], tool_choice: "none", messages })).toMatchObject({
      toolConfig: { tools: [{}] },
      additionalModelRequestFields: { tool_choice: { type: "none" } },
    });
    expect(faultOf("chat", "bedrock", { tools: [TOOL], tool_choice: "none", messages }).param).toBe(
      "tool_choice",
    );
    expect(faultOf("chat", "bedrock", { tools: [TOOL], parallel_tool_calls: false }).param).toBe(
      "parallel_tool_calls",
    );
  });

  it("bounds, sampling, stops, formats and the user have their places", () => {
    expect(
      converse({
        max_tokens: 5,
        temperature: 1.5,
        top_p: 0.5,
        top_k: 7,
        stop: ["a"],
        user: "u-1",
        response_format: {
          type: "json_schema",
          json_schema: { name: "N", schema: { type: "object", properties: { id: { const: 1 } } } },
        },
        guardrailConfig: { guardrailIdentifier: "g", guardrailVersion: "1" },
        additionalModelRequestFields: { x: 1 },
      }),
    ).toStrictEqual({
      messages: [{ role: "user", content: [{ text: "hi" }] }],
      inferenceConfig: { maxTokens: 5, topP: 0.5, stopSequences: ["a"] },
      outputConfig: {
        textFormat: {
          type: "json_schema",
          structure: {
            jsonSchema: { name: "N", schema: '{"type":"object","properties":{"id":{"const":1}}}' },
          },
        },
      },
      additionalModelRequestFields: { top_k: 7, x: 1 },
      additionalModelResponseFieldPaths: ["/stop_sequence"],
      guardrailConfig: { guardrailIdentifier: "g", guardrailVersion: "1" },
      requestMetadata: { user_id: "u-1" },
    });
  });

  it.each([
    [CLAUDE, "low", { thinking: { type: "enabled", budget_tokens: 2048 } }],
    ["global.anthropic.claude-opus-4-7", "minimal", { output_config: { effort: "low" } }],
    [
      "us.amazon.nova-2-lite-v1:0",
      "xhigh",
      { reasoningConfig: { type: "enabled", maxReasoningEffort: "high" } },
    ],
    ["us.amazon.nova-2-lite-v1:0", "none", { reasoningConfig: { type: "disabled" } }],
    ["openai.gpt-oss-120b-1:0", "medium", { reasoning_effort: "medium" }],
  ])("%s thinks with effort %s in its own words", (model, effort, fields) => {
    expect(converse({ reasoning_effort: effort }, model)["additionalModelRequestFields"]).toMatchObject(
      fields,
    );
  });

  it("a budget of thinking has a bound above it", () => {
    expect(converse({ reasoning_effort: "high" })).toMatchObject({ inferenceConfig: { maxTokens: 32_000 } });
    expect(converse({ reasoning_effort: "none" }, "meta.llama3")).toStrictEqual({
      messages: [{ role: "user", content: [{ text: "hi" }] }],
    });
  });

  it("signed thinking goes to Claude alone, unsigned and others' to nobody", () => {
    const content = [
      { type: "thinking", thinking: "t", signature: "S" },
      { type: "thinking", thinking: "unsigned", signature: "" },
      { type: "redacted_thinking", data: "R" },
      { type: "text", text: "x" },
    ];
    const body = { max_tokens: 1, messages: [HI, { role: "assistant", content }] };
    const said = (model: string): unknown =>
      (converse(body, model, "messages")["messages"] as { content: unknown }[])[1]?.content;
    expect(said(CLAUDE)).toStrictEqual([
      { reasoningContent: { reasoningText: { text: "t", signature: "S" } } },
      { reasoningContent: { redactedContent: "R" } },
      { text: "x" },
    ]);
    expect(said("amazon.nova-lite-v1:0")).toStrictEqual([{ text: "x" }]);
  });

  it("images and documents go as bytes; names are plain and each is used once", () => {
    const file = (filename: string, data: string): object => ({
      type: "file",
      file: { filename, file_data: data },
    });
    const content = [
      { type: "image_url", image_url: { url: "data:image/jpg;base64,AA==" } },
      file("my_report.v2.pdf", "data:application/pdf;base64,AAA="),
      file("my_report.v2.pdf", "data:text/csv;base64,AAA="),
      { type: "text", text: "  " },
    ];
    expect(converse({ messages: [{ role: "user", content }] })["messages"]).toStrictEqual([
      {
        role: "user",
        content: [
          { image: { format: "jpeg", source: { bytes: "AA==" } } },
          { document: { format: "pdf", source: { bytes: "AAA=" }, name: "my-report-v2-pdf" } },
          { document: { format: "csv", source: { bytes: "AAA=" }, name: "my-report-v2-pdf (2)" } },
        ],
      },
    ]);
  });

  it("ids that are too long or hold other characters change, each its own way, alike in call and result", () => {
    const ids = ["a:b", `${"x".repeat(80)}1`, `${"x".repeat(80)}2`];
    const body = converse({
      messages: [
        HI,
        { role: "assistant", tool_calls: calls(...ids) },
        ...ids.map((id) => ({ role: "tool", tool_call_id: id, content: id })),
      ],
    });
    const [, made, given] = body["messages"] as { content: Record<string, { toolUseId: string }>[] }[];
    const called = made?.content.map(({ toolUse }) => toolUse?.toolUseId);
    expect(called).toStrictEqual(given?.content.map(({ toolResult }) => toolResult?.toolUseId));
    expect(called?.[0]).toBe("a_b");
    expect(new Set(called).size).toBe(3);
    for (const id of called ?? []) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/u);
  });

  const image = (url: string): object => ({
    messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }],
  });
  it.each<[string, object, TranslationFault["param"]]>([
    ["an image by URL", image("https://h/x.png"), "messages.0.content.0"],
    ["an image of no known type", image("data:image/tiff;base64,AA=="), "messages.0.content.0"],
    ["JSON without a schema", { response_format: { type: "json_object" } }, "response_format"],
    ["n", { n: 2 }, "n"],
    ["a seed", { seed: 1 }, "seed"],
    ["top_k of a model without it", { top_k: 1 }, "top_k"],
    ["thinking of a model that does not", { reasoning_effort: "low" }, "reasoning_effort"],
    ["a guardrail that is no object", { guardrailConfig: 1 }, "guardrailConfig"],
  ])("P2: %s is refused by name", (_, fields, param) => {
    expect(faultOf("chat", "bedrock", fields).param).toBe(param);
  });
});

describe("anthropic-beta", () => {
  const asked = (model: string, more: object = {}): unknown =>
    sent(
      planOf(
        "messages",
        "bedrock",
        { model: "g", max_tokens: 9, messages: [HI], ...more },
        {
          model,
          callerHeaders: [
            "anthropic-beta",
            "claude-code-20250219, context-1m-2025-08-07",
            "Anthropic-Beta",
            "interleaved-thinking-2025-05-14,context-1m-2025-08-07",
          ],
        },
      ),
    ).json["additionalModelRequestFields"];

  it("P2: those that Bedrock knows go into the body, each once; it would refuse the others", () => {
    expect(asked("us.anthropic.claude-opus-4-8")).toStrictEqual({
      anthropic_beta: ["context-1m-2025-08-07", "interleaved-thinking-2025-05-14"],
    });
    expect(asked(CLAUDE)).toStrictEqual({ anthropic_beta: ["context-1m-2025-08-07"] });
    expect(asked("amazon.nova-pro-v1:0")).toBeUndefined();
  });

  it("what the caller puts there itself stays", () => {
    const own = { additionalModelRequestFields: { anthropic_beta: ["mine"] } };
    expect(asked(CLAUDE, own)).toStrictEqual({ anthropic_beta: ["mine"] });
  });
});

import { describe, expect, it } from "vitest";
import { planOf, sent } from "../support/exchange.ts";
import { faultOf } from "../support/fault.ts";

const HI = { role: "user", content: "hi" };
const chat = (body: object): Record<string, unknown> =>
  sent(planOf("chat", "anthropic", { model: "g", messages: [HI], ...body })).json;

const F = { type: "function", function: { name: "f", parameters: { type: "object" } } };

describe("chat to Anthropic", () => {
  it.each([
    [undefined, undefined, undefined],
    [undefined, false, { type: "auto", disable_parallel_tool_use: true }],
    [undefined, true, undefined],
    ["auto", false, { type: "auto", disable_parallel_tool_use: true }],
    ["required", undefined, { type: "any" }],
    ["required", false, { type: "any", disable_parallel_tool_use: true }],
    [
      { type: "function", function: { name: "f" } },
      false,
      { type: "tool", name: "f", disable_parallel_tool_use: true },
    ],
    ["none", undefined, { type: "none" }],
  ])("BH-23: tool_choice %j with parallel_tool_calls %j", (tool_choice, parallel_tool_calls, wanted) => {
    expect(chat({ tools: [F], tool_choice, parallel_tool_calls })["tool_choice"]).toStrictEqual(wanted);
    expect(chat({ tool_choice, parallel_tool_calls })).not.toHaveProperty("tool_choice");
  });

  it.each(["", "  ", undefined, "{}"])("BH-20: arguments %j are an empty object", (args) => {
    const call = { id: "toolu_9", type: "function", function: { name: "snooze", arguments: args } };
    const body = {
      messages: [
        HI,
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "toolu_9", content: "ok" },
      ],
    };
    expect(chat(body)["messages"]).toStrictEqual([
      { role: "user", content: [{ type: "text", text: "hi" }] },
      { role: "assistant", content: [{ type: "tool_use", id: "toolu_9", name: "snooze", input: {} }] },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "toolu_9", content: [{ type: "text", text: "ok" }] }],
      },
    ]);
  });

  it("BH-28: digits of arguments, schemas and numbers survive", () => {
    const text = `{"model":"g","temperature":0.50,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","maximum":9007199254740993}}}],"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"t","type":"function","function":{"name":"f","arguments":"{\\"id\\":9007199254740995}"}}]},{"role":"tool","tool_call_id":"t","content":"y"}]}`;
    const body = sent(planOf("chat", "anthropic", text)).text;
    expect(body).toContain("9007199254740993");
    expect(body).toContain('{"id":9007199254740995}');
    expect(body).toContain('"temperature":0.50');
  });

  it("P2: instructions anywhere become system, results of parallel calls one user turn", () => {
    const call = (id: string): object => ({ id, type: "function", function: { name: "f", arguments: "{}" } });
    const body = chat({
      messages: [
        { role: "system", content: "S1" },
        { role: "developer", content: [{ type: "text", text: "S2", cache_control: { type: "ephemeral" } }] },
        HI,
        { role: "assistant", content: "calling", tool_calls: [call("a"), call("b.1")] },
        { role: "tool", tool_call_id: "a", content: "1" },
        { role: "tool", tool_call_id: "b.1", content: "2" },
        { role: "system", content: "S3" },
        { role: "user", content: "go on" },
      ],
    });
    expect(body["system"]).toStrictEqual([
      { type: "text", text: "S1" },
      { type: "text", text: "S2", cache_control: { type: "ephemeral" } },
      { type: "text", text: "S3" },
    ]);
    expect(body["messages"]).toMatchObject([
      { role: "user" },
      { role: "assistant", content: [{ text: "calling" }, { id: "a" }, { id: "b_1" }] },
      { role: "user", content: [{ tool_use_id: "a" }, { tool_use_id: "b_1" }, { text: "go on" }] },
    ]);
  });

  it("P2: images and files by URL and base64", () => {
    const content = [
      { type: "image_url", image_url: { url: "https://h/x.png", detail: "low" } },
      { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
      { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } },
      { type: "file", file: { filename: "a.txt", file_data: "data:text/plain;base64,aGk=" } },
    ];
    expect(chat({ messages: [{ role: "user", content }] })["messages"]).toStrictEqual([
      {
        role: "user",
        content: [
          { type: "image", source: { type: "url", url: "https://h/x.png" } },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
          {
            type: "document",
            source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
            title: "a.pdf",
          },
          {
            type: "document",
            source: { type: "text", media_type: "text/plain", data: "hi" },
            title: "a.txt",
          },
        ],
      },
    ]);
  });

  it.each([
    [
      "claude-opus-4-6",
      { reasoning_effort: "low" },
      { type: "adaptive", display: "summarized" },
      { effort: "low" },
    ],
    [
      "claude-sonnet-4-5-20250929",
      { reasoning_effort: "high" },
      { type: "enabled", budget_tokens: 16_384 },
      undefined,
    ],
    [
      "claude-3-7-sonnet-latest",
      { reasoning_effort: "high", max_tokens: 4000 },
      { type: "enabled", budget_tokens: 3999 },
      undefined,
    ],
    ["claude-opus-4-1", { reasoning_effort: "low", max_tokens: 100 }, undefined, undefined],
    ["claude-opus-4-6", { reasoning_effort: "none" }, { type: "disabled" }, undefined],
    [
      "us.anthropic.claude-haiku-4-5-20251001-v1:0",
      { reasoning: { max_tokens: 2000 } },
      { type: "enabled", budget_tokens: 2000 },
      undefined,
    ],
  ])("P2: %s thinks as asked by %j", (model, body, thinking, output) => {
    const json = sent(planOf("chat", "anthropic", { model: "g", messages: [HI], ...body }, { model })).json;
    expect(json["thinking"]).toStrictEqual(thinking);
    expect(json["output_config"]).toStrictEqual(output);
  });

  it("P2: a tool turn whose thinking did not come back goes on unthinking", () => {
    const call = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };
    const history = [
      HI,
      { role: "assistant", tool_calls: [call], reasoning_content: "unsigned" },
      { role: "tool", tool_call_id: "a", content: "1" },
    ];
    const plan = planOf(
      "chat",
      "anthropic",
      { model: "g", messages: history, reasoning_effort: "low" },
      { model: "claude-sonnet-4-5" },
    );
    expect(sent(plan).json).not.toHaveProperty("thinking");
    expect(sent(plan).text).not.toContain("unsigned");
  });

  it.each([
    ["claude-sonnet-4-5", "required", {}],
    ["claude-sonnet-4-5", { type: "function", function: { name: "f" } }, {}],
    ["claude-opus-4-6", "required", { output_config: { effort: "high" } }],
  ])("P2: %s does not think before a call that it must make (%j)", (model, tool_choice, more) => {
    const body = { model: "g", messages: [HI], tools: [F], tool_choice, reasoning_effort: "high" };
    const { json } = sent(planOf("chat", "anthropic", body, { model }));
    expect(json).not.toHaveProperty("thinking");
    expect(json).toMatchObject(more);
    const free = sent(planOf("chat", "anthropic", { ...body, tool_choice: "auto" }, { model }));
    expect(free.json).toHaveProperty("thinking");
  });

  it("P2: instructions alone are what the model answers", () => {
    const messages = [
      { role: "system", content: "Be brief." },
      { role: "developer", content: "Greet me." },
    ];
    const texts = [
      { type: "text", text: "Be brief." },
      { type: "text", text: "Greet me." },
    ];
    const body = chat({ messages });
    expect(body).not.toHaveProperty("system");
    expect(body["messages"]).toStrictEqual([{ role: "user", content: texts }]);
    expect(chat({ messages: [...messages, HI] })).toMatchObject({ system: texts });
    const google = sent(planOf("chat", "gemini", { model: "g", messages })).json;
    expect(google).not.toHaveProperty("systemInstruction");
    expect(google["contents"]).toStrictEqual([
      { role: "user", parts: [{ text: "Be brief." }, { text: "Greet me." }] },
    ]);
    const converse = sent(planOf("chat", "bedrock", { model: "g", messages })).json;
    expect(converse).not.toHaveProperty("system");
    expect(converse["messages"]).toStrictEqual([
      { role: "user", content: [{ text: "Be brief." }, { text: "Greet me." }] },
    ]);
  });

  it("P2: another vendor's signature is left out", () => {
    const details = [{ type: "reasoning.encrypted", data: "x", format: "openai-responses-v1", index: 0 }];
    const body = chat({
      messages: [HI, { role: "assistant", content: "a", reasoning_details: details }, HI],
    });
    expect(JSON.stringify(body)).not.toContain("redacted");
  });

  it("P2: structured output, stop, user, temperature, bounds", () => {
    const schema = { type: "object", additionalProperties: false };
    const format = { type: "json_schema", json_schema: { name: "n", schema, strict: true } };
    expect(
      chat({
        response_format: format,
        stop: "END",
        user: "u",
        temperature: 1.7,
        max_completion_tokens: 7,
        max_tokens: 9,
      }),
    ).toMatchObject({
      output_config: { format: { type: "json_schema", schema } },
      stop_sequences: ["END"],
      metadata: { user_id: "u" },
      temperature: 1,
      max_tokens: 7,
    });
  });

  it("P2: what a format is for is said where the target has a place for it", () => {
    const of = (schema: object): object => ({
      response_format: {
        type: "json_schema",
        json_schema: { name: "n", description: "A name.", schema, strict: false },
      },
    });
    const said = { type: "object", description: "A name." };
    expect(chat(of({ type: "object" }))).toMatchObject({ output_config: { format: { schema: said } } });
    expect(chat(of({ type: "object", description: "Short." }))).toMatchObject({
      output_config: { format: { schema: { type: "object", description: "A name.\n\nShort." } } },
    });
    const body = { model: "g", messages: [HI], ...of({ type: "object" }) };
    expect(sent(planOf("chat", "gemini", body)).json).toMatchObject({
      generationConfig: { responseJsonSchema: said },
    });
    expect(sent(planOf("chat", "bedrock", body)).json).toMatchObject({
      outputConfig: {
        textFormat: {
          structure: { jsonSchema: { name: "n", description: "A name.", schema: '{"type":"object"}' } },
        },
      },
    });
  });

  it.each([
    [{ n: 2 }, "n"],
    [
      { response_format: { type: "json_schema", json_schema: { name: "n", schema: {}, mode: "x" } } },
      "response_format.json_schema.mode",
    ],
    [
      { response_format: { type: "json_schema", json_schema: { name: "n", schema: {} }, mode: "x" } },
      "response_format.mode",
    ],
    [{ logprobs: true }, "logprobs"],
    [{ seed: 1 }, "seed"],
    [{ frequency_penalty: 0.5 }, "frequency_penalty"],
    [{ response_format: { type: "json_object" } }, "response_format"],
    [{ tools: [{ type: "custom", custom: { name: "c" } }] }, "tools.0.type"],
    [{ some_new_field: { x: 1 } }, "some_new_field"],
    [{ service_tier: "flex" }, "service_tier"],
    [{ messages: [{ role: "user", content: "x", name: "bob" }] }, "messages.0.name"],
    [
      {
        messages: [
          { role: "user", content: [{ type: "input_audio", input_audio: { data: "", format: "mp3" } }] },
        ],
      },
      "messages.0.content.0",
    ],
    [
      { messages: [{ role: "user", content: [{ type: "file", file: { file_id: "f" } }] }] },
      "messages.0.content.0.file.file_id",
    ],
    [{ messages: [{ role: "function", name: "f", content: "x" }] }, "messages.0.role"],
  ])("P2: %j is refused by name", (body, param) => {
    expect(faultOf("chat", "anthropic", body)).toMatchObject({ code: "not_translatable", param });
  });

  it("P2: what says nothing is not refused", () => {
    const nothing = {
      n: 1,
      logprobs: false,
      seed: null,
      presence_penalty: 0,
      logit_bias: {},
      store: false,
      metadata: { a: "b" },
      prompt_cache_key: "k",
      service_tier: "auto",
    };
    expect(chat(nothing)).toStrictEqual(chat({}));
  });
});

describe("headers and paths", () => {
  const headers = [
    "anthropic-version",
    "2024-01-01",
    "Anthropic-Beta",
    "b",
    "openai-beta",
    "o",
    "x-app",
    "cli",
  ];

  it("P9: Anthropic gets its own headers, with the caller's version and betas", () => {
    const plan = planOf(
      "messages",
      "anthropic",
      { model: "g", messages: [] },
      { callerHeaders: headers, query: "beta=true" },
    );
    expect(plan.request.origin + plan.request.path).toBe("https://api.anthropic.com/v1/messages?beta=true");
    expect(plan.request.headers.join(" ")).toContain(
      "x-api-key sk anthropic-version 2024-01-01 anthropic-beta b",
    );
    const own = planOf(
      "chat",
      "anthropic",
      { model: "g", messages: [] },
      { callerHeaders: ["anthropic-beta", "b", "openai-beta", "o"], query: "x=1" },
    );
    expect(own.request.path).toBe("/v1/messages");
    expect(own.request.headers.join(" ")).toMatch(/anthropic-version 2023-06-01 anthropic-beta b$/u);
  });

  it("P9: a chat provider gets none of Anthropic's", () => {
    const plan = planOf(
      "messages",
      "openai",
      { model: "g", max_tokens: 1, messages: [] },
      { callerHeaders: headers, query: "beta=true" },
    );
    expect(plan.request.path).toBe("/v1/chat/completions");
    expect(plan.request.headers.join(" ")).not.toContain("anthropic");
    expect(plan.request.headers).toContain("x-app");
  });

  it.each([
    ["https://h", "https://h/v1/messages/count_tokens"],
    ["https://h/anthropic/", "https://h/anthropic/v1/messages/count_tokens"],
    ["https://h/v1", "https://h/v1/messages/count_tokens"],
  ])("anthropic at %s", (baseUrl, url) => {
    const plan = planOf("count_tokens", "anthropic", { model: "g", messages: [] }, { account: { baseUrl } });
    expect(plan.request.origin + plan.request.path).toBe(url);
  });
});

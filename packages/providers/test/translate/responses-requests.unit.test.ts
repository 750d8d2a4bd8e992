import { describe, expect, it } from "vitest";
import type { FamilyName } from "../../src/families/capabilities.ts";
import { TranslationFault } from "../../src/translate/fault.ts";
import { answered, planOf, runStream, sent } from "../support/exchange.ts";

function to(family: FamilyName, body: object): Record<string, unknown> {
  return sent(planOf("responses", family, { model: "g", input: "hi", ...body })).json;
}

function refused(body: object, family: FamilyName = "openai_compatible"): { code: string; param: string } {
  try {
    to(family, body);
  } catch (error) {
    if (error instanceof TranslationFault) return { code: error.code, param: error.param };
    throw error;
  }
  throw new Error("nothing was refused");
}

const call = (id: string, args = "{}"): object => ({
  type: "function_call",
  id: `fc_${id}`,
  call_id: id,
  name: "f",
  arguments: args,
  status: "completed",
});
const output = (id: string, value: unknown): object => ({
  type: "function_call_output",
  call_id: id,
  output: value,
});
const PNG = "data:image/png;base64,AA==";

describe("a response's request as a chat completion (P2)", () => {
  it("instructions and system items before the first turn come first", () => {
    expect(
      to("openai_compatible", {
        instructions: "Be brief.",
        input: [
          { role: "developer", content: "In verse." },
          { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] },
        ],
      })["messages"],
    ).toEqual([
      { role: "system", content: "Be brief.\n\nIn verse." },
      { role: "user", content: "hi" },
    ]);
  });

  it("BH-19, BH-20, BH-24, BH-28: calls stand with what was said before them, results in a row, numbers keep their digits", () => {
    const input = [
      { role: "user", content: "hi" },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAA" },
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        content: [{ type: "output_text", text: "Let me see.", annotations: [] }],
      },
      call("c1", '{"id":12345678901234567890,"x":1.10}'),
      call("c2", ""),
      output("c1", "one"),
      output("c2", [
        { type: "input_text", text: "two" },
        { type: "input_image", image_url: PNG },
      ]),
      { role: "user", content: "and?" },
    ];
    expect(sent(planOf("responses", "openai_compatible", { model: "g", input })).text).toContain(
      String.raw`"arguments":"{\"id\":12345678901234567890,\"x\":1.10}"`,
    );
    expect(to("openai_compatible", { input })["messages"]).toMatchObject([
      { role: "user", content: "hi" },
      {
        role: "assistant",
        content: "Let me see.",
        tool_calls: [{ id: "c1" }, { id: "c2", function: { arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c1", content: "one" },
      { role: "tool", tool_call_id: "c2" },
      { role: "user", content: [{ type: "text" }, { type: "image_url", image_url: { url: PNG } }] },
      { role: "user", content: "and?" },
    ]);
  });

  it("BH-23: tools, their choice and whether they run in parallel", () => {
    const tools = [
      { type: "function", name: "f", description: "d", strict: true, parameters: { type: "object" } },
    ];
    expect(
      to("openai_compatible", {
        tools,
        tool_choice: { type: "function", name: "f" },
        parallel_tool_calls: false,
      }),
    ).toMatchObject({
      tools: [
        {
          type: "function",
          function: { name: "f", description: "d", strict: true, parameters: { type: "object" } },
        },
      ],
      tool_choice: { type: "function", function: { name: "f" } },
      parallel_tool_calls: false,
    });
    expect(to("openai_compatible", { tools, tool_choice: "required" })).toMatchObject({
      tool_choice: "required",
    });
  });

  it("limits, reasoning, format, user", () => {
    const schema = { type: "object", properties: {}, additionalProperties: false };
    expect(
      to("openai_compatible", {
        max_output_tokens: 9,
        temperature: 0.25,
        top_p: 0.5,
        reasoning: { effort: "low", summary: "auto" },
        text: { format: { type: "json_schema", name: "n", schema, strict: true }, verbosity: "medium" },
        safety_identifier: "u",
        stream: true,
      }),
    ).toEqual({
      model: "m",
      messages: [{ role: "user", content: "hi" }],
      max_tokens: 9,
      temperature: 0.25,
      top_p: 0.5,
      reasoning_effort: "low",
      response_format: { type: "json_schema", json_schema: { name: "n", schema, strict: true } },
      user: "u",
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(to("openai_compatible", { text: { format: { type: "json_object" } } })["response_format"]).toEqual(
      {
        type: "json_object",
      },
    );
  });

  it("P2: a format is as strict as was said, and for what was said", () => {
    const schema = { type: "object", properties: {}, additionalProperties: false };
    const format = { type: "json_schema", name: "n", description: "A name.", schema };
    const asked = (more: object): unknown =>
      to("openai_compatible", { text: { format: { ...format, ...more } } })["response_format"];
    const wanted = (strict: boolean): object => ({
      type: "json_schema",
      json_schema: { name: "n", description: "A name.", schema, strict },
    });
    expect(asked({ strict: true })).toEqual(wanted(true));
    expect(asked({ strict: false })).toEqual(wanted(false));
    expect(asked({})).toEqual(wanted(false));
    expect(refused({ text: { format: { ...format, mode: "x" } } }).param).toBe("text.format.mode");
  });

  it("what says nothing to another provider is left out", () => {
    expect(
      to("openai_compatible", {
        store: true,
        metadata: { a: "b" },
        include: ["reasoning.encrypted_content"],
        background: false,
        truncation: "disabled",
        top_logprobs: 0,
        prompt_cache_key: "k",
        max_tool_calls: 3,
        previous_response_id: null,
        text: { format: { type: "text" } },
        service_tier: "auto",
      }),
    ).toEqual({ model: "m", messages: [{ role: "user", content: "hi" }] });
  });

  it.each([
    [{ tools: [{ type: "web_search" }] }, "tools.0.type"],
    [{ tools: [{ type: "custom", name: "c" }] }, "tools.0.type"],
    [{ tool_choice: { type: "file_search" } }, "tool_choice.type"],
    [{ background: true }, "background"],
    [{ truncation: "auto" }, "truncation"],
    [{ previous_response_id: "resp_1" }, "previous_response_id"],
    [{ conversation: "conv_1" }, "conversation"],
    [{ prompt: { id: "p" } }, "prompt"],
    [{ include: ["message.output_text.logprobs"] }, "include"],
    [{ top_logprobs: 2 }, "top_logprobs"],
    [{ text: { verbosity: "low" } }, "text.verbosity"],
    [{ service_tier: "flex" }, "service_tier"],
    [{ new_field: 1 }, "new_field"],
    [{ input: [{ type: "item_reference", id: "x" }] }, "input.0.type"],
    [{ input: [{ type: "web_search_call", id: "x" }] }, "input.0.type"],
    [
      { input: [{ role: "user", content: [{ type: "input_image", file_id: "f" }] }] },
      "input.0.content.0.file_id",
    ],
    [
      { input: [{ role: "user", content: [{ type: "input_file", file_id: "f" }] }] },
      "input.0.content.0.file_id",
    ],
  ])("refuses %j by its name", (body, param) => {
    expect(refused(body)).toEqual({ code: "not_translatable", param });
    expect(refused(body, "gemini")).toEqual({ code: "not_translatable", param });
  });

  it.each([
    [{ input: 1 }, "input"],
    [{ input: [1] }, "input.0"],
    [{ input: [{ content: "x" }] }, "input.0.role"],
    [{ input: [{ role: "user", content: [{ type: "input_text" }] }] }, "input.0.content.0.text"],
    [{ input: [{ type: "function_call", call_id: "c", name: "f", arguments: "[1" }] }, "input.0.arguments"],
    [
      { input: [{ role: "system", content: [{ type: "input_image", image_url: PNG }] }] },
      "input.0.content.0",
    ],
    [{ reasoning: { effort: "huge" } }, "reasoning.effort"],
    [{ max_output_tokens: "9" }, "max_output_tokens"],
    [{ tools: [{ type: "function" }] }, "tools.0.name"],
  ])("%j is wrong in the caller's own API too", (body, param) => {
    expect(refused(body)).toEqual({ code: "invalid_request", param });
  });
});

describe("who speaks it itself", () => {
  it("P1: passes through where the account says so, and is told as chat where it does not", () => {
    const body = { model: "g", input: "hi", tools: [{ type: "web_search" }] };
    const account = { baseUrl: "https://h/v1", endpoints: ["chat", "responses"] as const };
    const plan = planOf("responses", "openai_compatible", body, { account });
    expect(plan).toMatchObject({ translated: false, request: { path: "/v1/responses" } });
    expect(sent(plan).json).toEqual({ ...body, model: "m" });
    expect(planOf("responses", "openrouter", body, { account: {} }).request.path).toBe("/api/v1/responses");
    expect(refused({ tools: body.tools }).param).toBe("tools.0.type");
  });
});

describe("the same to Anthropic", () => {
  it("BH-31: thinking comes back to who signed it, and to nobody else", () => {
    const input = [
      { role: "user", content: "hi" },
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "hm" }],
        encrypted_content: "anthropic-claude-v1.signature.SIG",
      },
      { type: "reasoning", id: "rs_2", summary: [], encrypted_content: "anthropic-claude-v1.redacted.RED" },
      { type: "reasoning", id: "rs_3", summary: [], encrypted_content: "gAAAA" },
      call("c1"),
      output("c1", "one"),
    ];
    expect(to("anthropic", { input, reasoning: { effort: "low" } })["messages"]).toMatchObject([
      { role: "user" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "SIG" },
          { type: "redacted_thinking", data: "RED" },
          { type: "tool_use", id: "c1", name: "f", input: {} },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c1" }] },
    ]);
    expect(JSON.stringify(to("openai_compatible", { input }))).not.toMatch(/SIG|RED|gAAAA/u);
  });

  it("BH-26: Google's signatures come back to Google, of calls too", () => {
    const signed = { ...call("c1"), extra_content: { google: { thought_signature: "GSIG" } } };
    const thinking = {
      type: "reasoning",
      summary: [{ type: "summary_text", text: "hm" }],
      encrypted_content: "google-gemini-v1.signature.TSIG",
    };
    const input = [
      { role: "user", content: "hi" },
      thinking,
      { role: "assistant", content: "so" },
      signed,
      output("c1", "1"),
    ];
    const sentToGoogle = JSON.stringify(to("gemini", { input }));
    expect(sentToGoogle).toContain('"thoughtSignature":"TSIG"');
    expect(sentToGoogle).toContain('"thoughtSignature":"GSIG"');
    expect(JSON.stringify(to("anthropic", { input }))).not.toMatch(/TSIG|GSIG/u);
  });

  it("images and documents, by URL and in place", () => {
    const content = [
      { type: "input_image", image_url: "https://h/x.png", detail: "high" },
      { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,AA==" },
      { type: "input_file", file_url: "https://h/x.pdf" },
    ];
    expect(to("anthropic", { input: [{ role: "user", content }] })["messages"]).toMatchObject([
      {
        role: "user",
        content: [
          { type: "image", source: { type: "url", url: "https://h/x.png" } },
          { type: "document", source: { type: "base64", media_type: "application/pdf", data: "AA==" } },
          { type: "document", source: { type: "url", url: "https://h/x.pdf" } },
        ],
      },
    ]);
  });
});

describe("field 5.6: functions in namespaces, as Codex has them", () => {
  const fn = { type: "function", name: "spawn", description: "Spawns.", parameters: { type: "object" } };
  const namespace = { type: "namespace", name: "agents", description: "Sub-agents.", tools: [fn] };
  const plain = { type: "function", name: "spawn" };
  const made = { type: "function_call", call_id: "c1", name: "spawn", namespace: "agents", arguments: "{}" };
  const body = {
    model: "g",
    tools: [namespace, plain],
    input: [
      { role: "user", content: "hi" },
      made,
      { type: "function_call_output", call_id: "c1", output: "r" },
    ],
  };

  it("P2: each has a flat name there, and its namespace's words before its own", () => {
    expect(sent(planOf("responses", "openai_compatible", body)).json).toMatchObject({
      tools: [
        { function: { name: "agents__spawn", description: "Sub-agents.\n\nSpawns." } },
        { function: { name: "spawn" } },
      ],
      messages: [{}, { tool_calls: [{ function: { name: "agents__spawn" } }] }, { role: "tool" }],
    });
  });

  it("P2: a call of one comes back with both names, streamed too", () => {
    const plan = planOf("responses", "openai_compatible", { ...body, stream: true });
    const called = (name: string, index: number): object => ({
      index,
      id: `c${index}`,
      type: "function",
      function: { name, arguments: "{}" },
    });
    const calls = [called("agents__spawn", 0), called("spawn", 1), called("agents__other", 2)];
    const names = [{ name: "spawn", namespace: "agents" }, { name: "spawn" }, { name: "agents__other" }];
    const answer = {
      choices: [{ index: 0, message: { role: "assistant", tool_calls: calls }, finish_reason: "tool_calls" }],
    };
    const items = answered(planOf("responses", "openai_compatible", body), answer)["output"] as Record<
      string,
      unknown
    >[];
    expect(
      items.map(({ name, namespace: of }) => ({ name, ...(of === undefined ? {} : { namespace: of }) })),
    ).toEqual(names);
    const chunk = { choices: [{ index: 0, delta: { tool_calls: calls }, finish_reason: "tool_calls" }] };
    const { text } = runStream(plan, [`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`]);
    expect(text).toContain('"name":"spawn","namespace":"agents"');
  });

  it("what is no function in one is refused by its place", () => {
    const tools = [{ ...namespace, tools: [fn, { type: "custom", name: "x" }] }];
    expect(refused({ tools })).toMatchObject({
      code: "not_translatable",
      param: "tools.0.tools.1.type",
    });
  });
});

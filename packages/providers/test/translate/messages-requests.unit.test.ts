import { describe, expect, it } from "vitest";
import type { FamilyName } from "../../src/families/capabilities.ts";
import { planOf, sent } from "../support/exchange.ts";
import { faultOf } from "../support/fault.ts";

const HI = { role: "user", content: "hi" };
const messages = (body: object, family: FamilyName = "openai"): Record<string, unknown> =>
  sent(planOf("messages", family, { model: "g", max_tokens: 10, messages: [HI], ...body })).json;

describe("messages to chat families", () => {
  it("BH-24: images of tool results follow in one user message after the whole run", () => {
    const use = (id: string, p: string): object => ({ type: "tool_use", id, name: "read", input: { p } });
    const image = {
      type: "image",
      source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" },
    };
    const body = messages({
      messages: [
        { role: "user", content: "read both" },
        { role: "assistant", content: [use("t1", "a.png"), use("t2", "b.txt")] },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "t1", content: [image] },
            { type: "tool_result", tool_use_id: "t2", content: "bee" },
            { type: "text", text: "compare" },
          ],
        },
      ],
    });
    const list = body["messages"] as { role: string; content: unknown }[];
    expect(list.map(({ role }) => role)).toStrictEqual(["user", "assistant", "tool", "tool", "user"]);
    expect(typeof list[2]?.content).toBe("string");
    expect(list[2]?.content).not.toContain("iVBORw0KGgo");
    expect(list[3]?.content).toBe("bee");
    expect(list[4]?.content).toStrictEqual([
      { type: "text", text: "From the result of tool call t1:" },
      { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
      { type: "text", text: "compare" },
    ]);
  });

  it.each([
    ["boom", "[tool error] boom"],
    [" boom\n", "[tool error]  boom\n"],
    ["", "[tool error]"],
  ])("BH-24: is_error leaves a mark, and %j as it is", (content, told) => {
    const result = { type: "tool_result", tool_use_id: "t", content, is_error: true };
    expect(messages({ messages: [{ role: "user", content: [result] }] })["messages"]).toStrictEqual([
      { role: "tool", tool_call_id: "t", content: told },
    ]);
  });

  it.each([
    [undefined, undefined, undefined],
    [{ type: "auto", disable_parallel_tool_use: true }, "auto", false],
    [{ type: "any" }, "required", undefined],
    [
      { type: "tool", name: "f", disable_parallel_tool_use: false },
      { type: "function", function: { name: "f" } },
      true,
    ],
    [{ type: "none" }, "none", undefined],
  ])("BH-23: the table backwards: %j", (tool_choice, choice, parallel) => {
    const body = messages({ tools: [{ name: "f", input_schema: { type: "object" } }], tool_choice });
    expect(body["tool_choice"]).toStrictEqual(choice);
    expect(body["parallel_tool_calls"]).toBe(parallel);
    expect(messages({ tool_choice })).not.toHaveProperty("tool_choice");
  });

  it("P2: the rest of a request, for OpenAI and for servers like it", () => {
    const body = {
      system: [
        { type: "text", text: "A", cache_control: { type: "ephemeral" } },
        { type: "text", text: "B" },
      ],
      messages: [
        HI,
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "t", signature: "s" },
            { type: "text", text: "a" },
          ],
        },
        {
          role: "user",
          content: [
            { type: "document", title: "T", source: { type: "text", media_type: "text/plain", data: "D" } },
          ],
        },
      ],
      stop_sequences: ["x"],
      metadata: { user_id: "u".repeat(100) },
      thinking: { type: "enabled", budget_tokens: 10_000 },
      top_p: 0.5,
      stream: true,
    };
    const wanted = {
      messages: [
        { role: "system", content: "A\n\nB" },
        { role: "user", content: "hi" },
        { role: "assistant", content: "a" },
        { role: "user", content: [{ type: "text", text: "T\n\nD" }] },
      ],
      stop: ["x"],
      user: "u".repeat(64),
      reasoning_effort: "medium",
      top_p: 0.5,
      stream: true,
      stream_options: { include_usage: true },
    };
    expect(messages(body)).toStrictEqual({ model: "m", ...wanted, max_completion_tokens: 10 });
    expect(messages({ ...body, top_k: 4 }, "openai_compatible")).toStrictEqual({
      model: "m",
      ...wanted,
      max_tokens: 10,
      top_k: 4,
    });
  });

  it.each([
    [{ max_tokens: undefined }, "invalid_request", "max_tokens"],
    [{ max_tokens: 1, top_k: 4 }, "not_translatable", "top_k"],
    [
      { max_tokens: 1, context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } },
      "not_translatable",
      "context_management",
    ],
    [{ max_tokens: 1, context_management: { edits: [], x: 1 } }, "not_translatable", "context_management.x"],
    [{ max_tokens: 1, stop_sequences: ["1", "2", "3", "4", "5"] }, "not_translatable", "stop_sequences"],
    [
      { max_tokens: 1, tools: [{ type: "web_search_20250305", name: "web_search" }] },
      "not_translatable",
      "tools.0",
    ],
    [
      { max_tokens: 1, tools: [{ name: "f", input_schema: {}, allowed_callers: ["x"] }] },
      "not_translatable",
      "tools.0.allowed_callers",
    ],
    [
      { max_tokens: 1, messages: [HI, { role: "assistant", content: "The" }] },
      "not_translatable",
      "messages.1",
    ],
    [
      { max_tokens: 1, messages: [{ role: "user", content: [{ type: "search_result" }] }] },
      "not_translatable",
      "messages.0.content.0",
    ],
    [
      {
        max_tokens: 1,
        messages: [{ role: "user", content: [{ type: "image", source: { type: "file", file_id: "f" } }] }],
      },
      "not_translatable",
      "messages.0.content.0.source",
    ],
    [{ max_tokens: 1, messages: [{ role: "user", content: 1 }] }, "invalid_request", "messages.0.content"],
  ])("P2, BH-34: %j is refused by name", (body, code, param) => {
    const fault = faultOf("messages", "openai", body);
    expect(fault).toMatchObject({ code, param });
    expect(fault.message).toContain(`'${param}'`);
    if (code === "not_translatable") expect(fault.message).toContain("capability_rejected:");
  });

  it("an account that serves messages itself gets them as they are", () => {
    const body = `{"model":"g", "max_tokens":1,"messages":[],"new":1e400}`;
    const plan = planOf("messages", "openai_compatible", body, {
      account: { baseUrl: "https://h/v1", endpoints: ["chat", "messages"] },
    });
    expect(plan).toMatchObject({ translated: false, request: { path: "/v1/messages" } });
    expect(sent(plan).text).toBe(body.replace('"g"', '"m"'));
  });

  it("BH-25: cache breakpoints and the order of keys reach Anthropic unchanged", () => {
    const prefix = `"system":[{"type":"text","cache_control":{"ttl":"1h","type":"ephemeral"},"text":"S"}],"tools":[{"name":"f","input_schema":{},"cache_control":{"type":"ephemeral"}}]`;
    const body = `{${prefix},"model":"g","max_tokens":1,"messages":[]}`;
    expect(sent(planOf("messages", "anthropic", body)).text).toBe(body.replace('"g"', '"m"'));
  });
});

describe("field 5.7: what Claude Code asks for besides", () => {
  const asked = {
    model: "g",
    max_tokens: 9,
    tools: [
      { name: "f", input_schema: { type: "object" }, defer_loading: true, eager_input_streaming: true },
    ],
    thinking: { type: "adaptive", display: "omitted" },
    context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
    output_config: { effort: "high" },
    messages: [
      HI,
      { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "ToolSearch", input: {} }] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "t1", content: [{ type: "tool_reference", tool_name: "f" }] },
        ],
      },
    ],
  };

  it("P2: tools that are to be found are offered at once; thinking that is to be cleared is not there", () => {
    const { json } = sent(planOf("messages", "openai_compatible", asked));
    expect(json).toMatchObject({
      reasoning_effort: "high",
      tools: [{ function: { name: "f" } }],
      messages: [HI, { role: "assistant" }, { role: "tool", tool_call_id: "t1", content: "f" }],
    });
    expect(JSON.stringify(json)).not.toMatch(/defer_loading|context_management/u);
  });

  it("P2: a refused edit of the context names the beta, which it then does without", () => {
    const edits = [{ type: "clear_tool_uses_20250919" }];
    const fault = faultOf("messages", "openai_compatible", { ...asked, context_management: { edits } });
    expect(fault.message).toMatch(/^capability_rejected: beta_header:context-management-2025-06-27, /u);
  });
});

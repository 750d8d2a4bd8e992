import { describe, expect, it } from "vitest";
import { recogniseError } from "../../src/errors/recognise-error.ts";
import type { BodyEndpoint } from "../../src/request/facts.ts";
import type { TranslationFault } from "../../src/translate/fault.ts";
import { concat } from "../support/bytes.ts";
import { answered, eventsOf, planOf, runStream, sent, type StreamRun } from "../support/exchange.ts";
import { faultOf } from "../support/fault.ts";
import { converseEvent, converseException, frame } from "../support/frames.ts";

const CLAUDE = "us.anthropic.claude-haiku-4-5-20251001-v1:0";
const HI = { role: "user", content: "hi" };
const TOOL = { type: "function", function: { name: "f", parameters: { type: "object" } } };

function converse(fields: object, model = CLAUDE, endpoint: BodyEndpoint = "chat"): Record<string, unknown> {
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
      inferenceConfig: { maxTokens: 5, temperature: 1, topP: 0.5, stopSequences: ["a"] },
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

const START = converseEvent("messageStart", { role: "assistant", p: "abc" });
const delta = (value: object, index = 0): Uint8Array =>
  converseEvent("contentBlockDelta", { contentBlockIndex: index, delta: value });
const stopBlock = (index = 0): Uint8Array => converseEvent("contentBlockStop", { contentBlockIndex: index });
const stop = (stopReason: string, more = {}): Uint8Array =>
  converseEvent("messageStop", { stopReason, ...more });
const USAGE = converseEvent("metadata", {
  usage: {
    inputTokens: 3,
    outputTokens: 2,
    totalTokens: 905,
    cacheReadInputTokens: 900,
    cacheWriteInputTokens: 0,
  },
});

function stream(endpoint: BodyEndpoint, frames: readonly Uint8Array[]): StreamRun {
  const body = { model: "g", max_tokens: 9, stream: true, messages: [HI] };
  return runStream(planOf(endpoint, "bedrock", body), [concat(frames)]);
}

describe("streams", () => {
  it("thinking, text and calls come out in both dialects, usage with what the cache gave (BH-25)", () => {
    const frames = [
      converseEvent("initial-response", {}),
      START,
      delta({ reasoningContent: { text: "th" } }),
      delta({ reasoningContent: { signature: "S" } }),
      stopBlock(),
      delta({ text: "é" }, 1),
      delta({ text: "" }, 1),
      stopBlock(1),
      converseEvent("contentBlockStart", {
        contentBlockIndex: 2,
        start: { toolUse: { toolUseId: "a", name: "f" } },
      }),
      delta({ toolUse: { input: '{"id":90071992' } }, 2),
      delta({ toolUse: { input: "54740993}" } }, 2),
      stopBlock(2),
      converseEvent("contentBlockStart", {
        contentBlockIndex: 3,
        start: { toolUse: { toolUseId: "b", name: "g" } },
      }),
      stopBlock(3),
      stop("tool_use"),
      USAGE,
    ];
    const chat = stream("chat", frames);
    expect(chat).toMatchObject({ verdict: "complete", usage: { input: 903, output: 2, cached: 900 } });
    const made = eventsOf(chat.text).flatMap((event) => {
      const [choice] = event["choices"] as { delta: { tool_calls?: { index: number }[] } }[];
      return choice?.delta.tool_calls ?? [];
    });
    expect(made.map(({ index }) => index)).toStrictEqual([0, 0, 0, 1, 1]);
    expect(chat.text).toContain('"arguments":"{}"');
    const messages = stream("messages", frames).text;
    expect(messages).toContain('"type":"signature_delta","signature":"S"');
    expect(messages).toContain(
      '"input_tokens":3,"cache_creation_input_tokens":0,"cache_read_input_tokens":900',
    );
    expect(messages).toContain('"stop_reason":"tool_use"');
    expect(messages.endsWith('event: message_stop\ndata: {"type":"message_stop"}\n\n')).toBe(true);
  });

  it.each([
    ["guardrail_intervened", "content_filter", "refusal"],
    ["content_filtered", "content_filter", "refusal"],
    ["max_tokens", "length", "max_tokens"],
    ["model_context_window_exceeded", "length", "max_tokens"],
    ["malformed_tool_use", "stop", "end_turn"],
  ])("stopReason %s is %s in chat and %s in messages", (native, chat, messages) => {
    const frames = [START, delta({ text: "x" }), stopBlock(), stop(native), USAGE];
    expect(stream("chat", frames).text).toContain(`"finish_reason":"${chat}"`);
    expect(stream("messages", frames).text).toContain(`"stop_reason":"${messages}"`);
  });

  it("the stop sequence that Claude met is told", () => {
    const met = { additionalModelResponseFields: { stop_sequence: "END" } };
    const { text } = stream("messages", [START, delta({ text: "x" }), stop("stop_sequence", met), USAGE]);
    expect(text).toContain('"stop_reason":"stop_sequence","stop_sequence":"END"');
  });

  it("blocks that only this API has go on whole", () => {
    const start = { toolUse: { toolUseId: "s", name: "nova_grounding", type: "server_tool_use" } };
    const { text } = stream("chat", [
      START,
      converseEvent("contentBlockStart", { contentBlockIndex: 0, start }),
      delta({ toolUse: { input: "{}" } }),
      stopBlock(),
      delta({ text: "x" }, 1),
      stop("end_turn"),
    ]);
    expect(text).toContain('"provider_specific":[{"toolUse":{"toolUseId":"s"');
    expect(text).not.toContain("tool_calls");
  });

  it("BH-16: a stream that ends before messageStop is cut, one that lacks only its usage is whole", () => {
    expect(stream("chat", [START, delta({ text: "x" })]).verdict).toBe("cut");
    expect(stream("chat", [START, delta({ text: "x" }), stop("end_turn")]).verdict).toBe("complete");
    expect(stream("chat", []).verdict).toBe("empty");
    const bent = concat([START, delta({ text: "x" })]);
    bent[bent.length - 1] = (bent.at(-1) as number) ^ 1;
    expect(stream("chat", [bent]).verdict).toBe("cut");
  });

  it.each([
    ["throttlingException", "rate_limited"],
    ["serviceUnavailableException", "overloaded"],
    ["internalServerException", "server_error"],
    ["modelStreamErrorException", "stream_error"],
    ["validationException", "invalid_request"],
  ])("BH-17: %s in a stream is %s, before output and after", (type, expected) => {
    const failed = converseException(type, { message: "slow down" });
    const early = stream("chat", [START, failed, delta({ text: "late" })]);
    expect(early).toMatchObject({ committed: false, verdict: "cut" });
    expect(early.text).not.toContain("late");
    const late = stream("chat", [START, delta({ text: "Hel" }), failed]);
    expect(late).toMatchObject({ committed: true, verdict: "cut" });
    const body = late.failure ?? "";
    const answer = { family: "bedrock", status: 200, headers: () => undefined, body, inStream: true };
    expect(recogniseError(answer, 0)).toMatchObject({ class: expected, message: "slow down", code: type });
  });

  it("BH-17: errors without a payload, and payloads that are no JSON, are told too", () => {
    const headers = { ":message-type": "error", ":error-code": "InternalError", ":error-message": "oops" };
    expect(JSON.parse(stream("chat", [frame(headers, "")]).failure ?? "")).toStrictEqual({
      message: "oops",
      code: "InternalError",
    });
    const plain = stream("chat", [converseException("throttlingException", "slow")]).failure;
    expect(JSON.parse(plain ?? "")).toStrictEqual({ message: "slow", code: "throttlingException" });
  });
});

describe("answers", () => {
  const plan = planOf("chat", "bedrock", { model: "g", messages: [HI] });

  it("BH-28: digits of a call stay", () => {
    const input = '{"toolUseId":"a","name":"f","input":{"id":9007199254740993}}';
    const body = `{"output":{"message":{"content":[{"toolUse":${input}}]}},"stopReason":"tool_use"}`;
    expect(JSON.stringify(answered(plan, body))).toContain('{\\"id\\":9007199254740993}');
  });

  it("BH-07: what is no answer is told from errors", () => {
    const kind = (body: object): string =>
      plan.readAnswer(new TextEncoder().encode(JSON.stringify(body))).kind;
    expect(kind({ message: "slow down" })).toBe("error");
    expect(kind({ __type: "ThrottlingException" })).toBe("error");
    expect(kind({ output: { message: { content: [] } } })).toBe("invalid");
    expect(kind({ output: { message: { content: [] } }, stopReason: "end_turn" })).toBe("usable");
    expect(kind({})).toBe("invalid");
    expect(kind([])).toBe("invalid");
  });
});

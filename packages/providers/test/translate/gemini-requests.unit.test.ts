import { joined } from "../../src/json/splice.ts";
import { describe, expect, it } from "vitest";
import { textOf } from "../support/bytes.ts";
import { answered, planOf, sent } from "../support/exchange.ts";
import { faultOf } from "../support/fault.ts";

const HI = { role: "user", content: "hi" };
const chat = (body: object, more = {}): Record<string, unknown> =>
  sent(planOf("chat", "gemini", { model: "g", messages: [HI], ...body }, more)).json;
const config = (body: object, more = {}): unknown => chat(body, more)["generationConfig"];

describe("requests", () => {
  it("P2: a conversation with tools becomes contents, results in the order of their calls (BH-20, BH-21, BH-28)", () => {
    const { json, text } = sent(
      planOf(
        "chat",
        "gemini",
        `{"model":"g","messages":[
          {"role":"system","content":"a"},{"role":"user","content":"go"},
          {"role":"assistant","content":"","tool_calls":[
            {"id":"c1","type":"function","function":{"name":"f","arguments":"{\\"id\\":9007199254740993}"}},
            {"id":"c2","type":"function","function":{"name":"g","arguments":""}}]},
          {"role":"tool","tool_call_id":"c2","content":"two"},{"role":"tool","tool_call_id":"c1","content":""},
          {"role":"developer","content":"b"},{"role":"user","content":"and?"}]}`,
        { model: "gemini-2.5-pro" },
      ),
    );
    expect(text).toContain("9007199254740993");
    expect(json).toStrictEqual({
      systemInstruction: { parts: [{ text: "a" }, { text: "b" }] },
      contents: [
        { role: "user", parts: [{ text: "go" }] },
        {
          role: "model",
          parts: [
            { functionCall: { name: "f", args: { id: Number("9007199254740993") } } },
            { functionCall: { name: "g", args: {} } },
          ],
        },
        {
          role: "user",
          parts: [
            { functionResponse: { name: "f", response: { output: "" } } },
            { functionResponse: { name: "g", response: { output: "two" } } },
            { text: "and?" },
          ],
        },
      ],
    });
  });

  it("P2: images and documents, of results too, go inline or by URL", () => {
    const { json } = sent(
      planOf("messages", "gemini", {
        model: "g",
        max_tokens: 9,
        messages: [
          {
            role: "user",
            content: [
              { type: "image", source: { type: "url", url: "https://h/a.png?x=1" } },
              { type: "document", source: { type: "base64", media_type: "application/pdf", data: "AA==" } },
            ],
          },
          { role: "assistant", content: [{ type: "tool_use", id: "t", name: "look", input: {} }] },
          {
            role: "user",
            content: [
              {
                type: "tool_result",
                tool_use_id: "t",
                is_error: true,
                content: [
                  { type: "text", text: "bad" },
                  { type: "image", source: { type: "base64", media_type: "image/png", data: "BB==" } },
                ],
              },
            ],
          },
        ],
      }),
    );
    expect(json["contents"]).toStrictEqual([
      {
        role: "user",
        parts: [
          { fileData: { mimeType: "image/png", fileUri: "https://h/a.png?x=1" } },
          { inlineData: { mimeType: "application/pdf", data: "AA==" } },
        ],
      },
      {
        role: "model",
        parts: [
          {
            functionCall: { name: "look", args: {} },
            thoughtSignature: "skip_thought_signature_validator",
          },
        ],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { name: "look", response: { error: "bad\n[image: see below]" } } },
          { text: "From the result of look:" },
          { inlineData: { mimeType: "image/png", data: "BB==" } },
        ],
      },
    ]);
  });

  it("P2: tools keep what their schemas ask for", () => {
    const parameters = {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      properties: {
        const: { const: "x" },
        n: { type: "number", description: "A count.", exclusiveMinimum: 0, default: { not: 1 } },
        all: { allOf: [{ type: "object", properties: { a: {} }, required: ["a"] }, { required: ["b"] }] },
      },
      required: ["n"],
    };
    const tools = [{ type: "function", function: { name: "f", description: "F", parameters, strict: true } }];
    expect(chat({ tools })["tools"]).toStrictEqual([
      {
        functionDeclarations: [
          {
            name: "f",
            description: "F",
            parametersJsonSchema: {
              type: "object",
              properties: {
                const: { enum: ["x"] },
                n: { type: "number", description: "A count. (exclusiveMinimum: 0)", default: { not: 1 } },
                all: { type: "object", properties: { a: {} }, required: ["a", "b"] },
              },
              required: ["n"],
            },
          },
        ],
      },
    ]);
  });

  it.each([
    ["auto", { mode: "AUTO" }],
    ["none", { mode: "NONE" }],
    ["required", { mode: "ANY" }],
    [
      { type: "function", function: { name: "f" } },
      { mode: "ANY", allowedFunctionNames: ["f"] },
    ],
  ])("P2: tool_choice %j", (choice, functionCallingConfig) => {
    const tools = [{ type: "function", function: { name: "f" } }];
    expect(chat({ tools, tool_choice: choice })["toolConfig"]).toStrictEqual({ functionCallingConfig });
    expect(chat({ tools })["toolConfig"]).toBeUndefined();
    expect(chat({ tool_choice: choice })["toolConfig"]).toBeUndefined();
  });

  it("P2: settings have their own names, and no settings are no field", () => {
    expect(chat({})).toStrictEqual({ contents: [{ role: "user", parts: [{ text: "hi" }] }] });
    expect(
      config({
        max_tokens: 5,
        temperature: 0.5,
        top_p: 0.9,
        stop: "x",
        n: 2,
        seed: 7,
        presence_penalty: 0.1,
        frequency_penalty: 0.2,
        logprobs: true,
        top_logprobs: 3,
        modalities: ["text", "image"],
        response_format: { type: "json_schema", json_schema: { name: "s", schema: { type: "object" } } },
      }),
    ).toStrictEqual({
      maxOutputTokens: 5,
      temperature: 0.5,
      topP: 0.9,
      stopSequences: ["x"],
      candidateCount: 2,
      seed: 7,
      presencePenalty: 0.1,
      frequencyPenalty: 0.2,
      responseLogprobs: true,
      logprobs: 3,
      responseModalities: ["TEXT", "IMAGE"],
      responseMimeType: "application/json",
      responseJsonSchema: { type: "object" },
    });
    expect(config({ response_format: { type: "json_object" } })).toStrictEqual({
      responseMimeType: "application/json",
    });
  });

  it.each([
    ["gemini-2.5-flash", { reasoning_effort: "none" }, { thinkingBudget: 0 }],
    ["gemini-2.5-pro", { reasoning_effort: "none" }, { thinkingBudget: 128 }],
    ["gemini-2.5-pro", { reasoning_effort: "high" }, { includeThoughts: true, thinkingBudget: 24_576 }],
    ["gemini-3-flash", { reasoning_effort: "none" }, { thinkingLevel: "minimal" }],
    [
      "gemini-3-pro-preview",
      { reasoning_effort: "medium" },
      { includeThoughts: true, thinkingLevel: "high" },
    ],
    ["gemini-3.1-pro", { reasoning_effort: "medium" }, { includeThoughts: true, thinkingLevel: "medium" }],
    [
      "gemini-3-flash",
      { reasoning: { max_tokens: 99_999 } },
      { includeThoughts: true, thinkingBudget: 99_999 },
    ],
    [
      "gemini-2.5-flash",
      { reasoning: { max_tokens: 99_999 } },
      { includeThoughts: true, thinkingBudget: 24_576 },
    ],
  ])("P2: %s thinks for %j", (model, wish, thinkingConfig) => {
    expect(config(wish, { model })).toStrictEqual({ thinkingConfig });
  });

  it.each([
    [
      { parallel_tool_calls: false, tools: [{ type: "function", function: { name: "f" } }] },
      "parallel_tool_calls",
    ],
    [{ messages: [HI, { role: "assistant", content: "And" }] }, "messages.1"],
    [{ logit_bias: { 1: 2 } }, "logit_bias"],
    [{ messages: [{ role: "tool", tool_call_id: "c", content: "x" }] }, "messages.0"],
    [{ modalities: ["video"] }, "modalities"],
  ])("P2: refuses %j by its name", (body, param) => {
    expect(faultOf("chat", "gemini", body).param).toBe(param);
  });
});

describe("addresses", () => {
  it("BH-37: the key is in a header, and a caller's goes no further", () => {
    const { request } = planOf(
      "chat",
      "gemini",
      { model: "g", stream: true, messages: [HI] },
      { query: "key=k" },
    );
    expect(request.origin + request.path).toBe(
      "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse",
    );
    expect(request.headers).toContain("x-goog-api-key");
    const embeddings = planOf(
      "embeddings",
      "gemini",
      { model: "g", input: "x" },
      { query: "a=1&key=k" },
    ).request;
    expect(embeddings.path).toBe("/v1beta/openai/embeddings?a=1");
    expect(embeddings.headers).toContain("Bearer sk");
  });

  it("P1: an account of the compatible path is spoken to in chat", () => {
    const account = { baseUrl: "https://h/v1beta/openai" };
    const body = '{"model":"g","messages":[],"new":1}';
    const plan = planOf("chat", "gemini", body, { account });
    expect(plan.request.path).toBe("/v1beta/openai/chat/completions");
    expect(textOf(joined(plan.request.body))).toBe(body.replace('"g"', '"m"'));
  });

  it.each([
    [
      { location: "europe-west1", project: "p" },
      "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1",
    ],
    [{ project: "p" }, "https://aiplatform.googleapis.com/v1/projects/p/locations/global"],
    [{ project: "p", location: "eu" }, "https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu"],
    [{ project: "p", baseUrl: "http://h:1" }, "http://h:1/v1/projects/p/locations/global"],
  ])("vertex: %j", (account, root) => {
    const { request } = planOf("chat", "vertex", { model: "g", messages: [HI] }, { account });
    expect(request.origin + request.path).toBe(`${root}/publishers/google/models/m:generateContent`);
    expect(request.headers).toContain("Bearer sk");
  });

  it("P1: vertex's Claude gets the caller's messages, but for where model and version stand", () => {
    const more = { model: "claude-sonnet-4@1" };
    const send = (body: string): string => {
      const { path, body: bytes } = planOf("messages", "vertex", body, more).request;
      expect(path).toContain(
        `/publishers/anthropic/models/claude-sonnet-4%401:${body.includes("true") ? "streamR" : "r"}awPredict`,
      );
      return textOf(joined(bytes));
    };
    const version = '"anthropic_version":"vertex-2023-10-16"';
    expect(send('{ "model" : "g", "max_tokens":1.0 ,"messages":[],"x":1,"stream":true}')).toBe(
      `{ ${version}, "max_tokens":1.0 ,"messages":[],"x":1,"stream":true}`,
    );
    expect(send('{"messages":[] , "model":"g"}')).toBe(`{"messages":[] , ${version}}`);
    expect(send('{"messages":[]}')).toBe(`{${version},"messages":[]}`);
    expect(send('{"anthropic_version":"v","messages":[] , "m\\u006fdel":"g","Model":"h"}')).toBe(
      '{"anthropic_version":"v","messages":[] }',
    );
    const chatted = planOf("chat", "vertex", { model: "g", messages: [HI] }, more);
    expect(sent(chatted).json).toMatchObject({ anthropic_version: "vertex-2023-10-16", max_tokens: 32_000 });
    expect(sent(chatted).json).not.toHaveProperty("model");
  });
});

describe("embeddings", () => {
  it("BH-29: the caller gets the form that it asked for, which the provider does not hear of", () => {
    const answer = {
      object: "list",
      data: [{ index: 0, embedding: [0.25, -1, 3.5] }],
      usage: { prompt_tokens: 1 },
    };
    for (const [format, embedding] of [
      ["base64", "AACAPgAAgL8AAGBA"],
      ["float", [0.25, -1, 3.5]],
    ] as const) {
      const plan = planOf("embeddings", "gemini", { encoding_format: format, model: "e", input: ["p"] });
      expect(sent(plan).json).toStrictEqual({ model: "m", input: ["p"] });
      expect(answered(plan, answer)).toMatchObject({ data: [{ embedding }] });
    }
  });

  it.each([[[15_339, 1917]], [[[1], [2]]], [[]], [["a", [1]]]])("BH-30: refuses input %j", (input) => {
    expect(faultOf("embeddings", "gemini", { input }).param).toBe("input");
  });
});

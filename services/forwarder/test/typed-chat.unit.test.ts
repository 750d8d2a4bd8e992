import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { JsonObject } from "@bufbuild/protobuf";
import { ChatChoiceSchema, ChatParametersSchema, Role } from "@switchyard/proto/inference/v1/chat";
import { EmbedRequestSchema } from "@switchyard/proto/inference/v1/inference_service";
import { readFailure } from "@switchyard/rpc";
import { describe, expect, it } from "vitest";
import { readBeside, readChoices, readDeltas, wholeAsDeltas } from "../src/typed/chat-answer.ts";
import { chatBody } from "../src/typed/chat-body.ts";
import { CallNumbers } from "../src/typed/call-numbers.ts";
import { embedBody, readEmbeddings } from "../src/typed/embed.ts";

const text = (value: string) => ({ case: "text" as const, value });
const USER = { role: Role.USER, content: text("hi") };
type Init = Parameters<typeof create<typeof ChatParametersSchema>>[1];
const body = (init: Init, stream = false) => chatBody(create(ChatParametersSchema, init), stream);

const failureOf = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    return readFailure(error);
  }
  throw new Error("it did not fail");
};

describe("a chat request as a body", () => {
  it("what is absent is not sent, and what is zero is", () => {
    expect(body({ model: "g", messages: [USER] })).toEqual({
      model: "g",
      messages: [{ role: "user", content: "hi" }],
    });
    const zero = { temperature: 0, topP: 0, seed: 0n, user: "" };
    expect(body({ model: "g", messages: [USER], ...zero })).toMatchObject({
      temperature: 0,
      top_p: 0,
      seed: 0,
      user: "",
    });
  });

  it("every field has its place", () => {
    const schema = { type: "object" };
    const asked = body(
      {
        model: "g",
        messages: [USER],
        tools: [{ name: "look", description: "looks", parameters: schema, strict: true }, { name: "bare" }],
        toolChoice: { choice: { case: "function", value: "look" } },
        maxTokens: 5n,
        stop: ["x"],
        responseFormat: { format: { case: "jsonSchema", value: { name: "s", schema, strict: false } } },
        reasoningEffort: "low",
        extra: { top_k: 3, n: 2 },
      },
      true,
    );
    expect(asked).toEqual({
      top_k: 3,
      n: 2,
      model: "g",
      messages: [{ role: "user", content: "hi" }],
      tools: [
        {
          type: "function",
          function: { name: "look", description: "looks", parameters: schema, strict: true },
        },
        { type: "function", function: { name: "bare" } },
      ],
      tool_choice: { type: "function", function: { name: "look" } },
      max_tokens: 5,
      stop: ["x"],
      response_format: { type: "json_schema", json_schema: { name: "s", schema, strict: false } },
      reasoning_effort: "low",
      stream: true,
    });
  });

  it("messages keep their roles, parts and calls", () => {
    const bytes = new Uint8Array([1, 2, 3]);
    const messages = [
      { role: Role.SYSTEM, content: text("be kind") },
      { role: Role.DEVELOPER, content: text("be short") },
      {
        role: Role.USER,
        name: "ann",
        content: {
          case: "parts" as const,
          value: {
            parts: [
              { part: text("what?") },
              {
                part: {
                  case: "image" as const,
                  value: { source: { case: "url" as const, value: "https://x/y" }, detail: "low" },
                },
              },
              {
                part: {
                  case: "image" as const,
                  value: { source: { case: "data" as const, value: { mediaType: "image/png", bytes } } },
                },
              },
            ],
          },
        },
      },
      {
        role: Role.ASSISTANT,
        toolCalls: [{ id: "t1", name: "look", arguments: "{}" }],
        extra: { reasoning_details: [1], role: "user" },
      },
      { role: Role.TOOL, toolCallId: "t1", content: text("") },
    ];
    expect(body({ model: "g", messages })["messages"]).toEqual([
      { role: "system", content: "be kind" },
      { role: "developer", content: "be short" },
      {
        role: "user",
        name: "ann",
        content: [
          { type: "text", text: "what?" },
          { type: "image_url", image_url: { url: "https://x/y", detail: "low" } },
          { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } },
        ],
      },
      {
        role: "assistant",
        reasoning_details: [1],
        tool_calls: [{ id: "t1", type: "function", function: { name: "look", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "t1", content: "" },
    ]);
  });

  it("extra can't change what is typed, nor whether it streams", () => {
    const extra = { model: "other", messages: [], stream: true, stream_options: {}, temperature: 1 };
    expect(body({ model: "g", messages: [USER], temperature: 0.5, extra })).toEqual({
      model: "g",
      messages: [{ role: "user", content: "hi" }],
      temperature: 0.5,
    });
  });

  it("a message without a role is refused", () => {
    expect(failureOf(() => body({ model: "g", messages: [{}] }))).toMatchObject({
      code: "invalid_request",
      status: 400,
    });
  });
});

const WHOLE = {
  choices: [
    {
      index: 1,
      message: {
        role: "assistant",
        content: null,
        refusal: "no",
        reasoning_content: "hm",
        annotations: ["x"],
        tool_calls: [{ id: "t1", type: "function", function: { name: "look", arguments: "{}" } }],
      },
      finish_reason: "tool_calls",
    },
  ],
};
const deltasOf = (...events: readonly JsonObject[]) => {
  const numbers = new CallNumbers();
  return events.flatMap((event) => readDeltas(event, numbers));
};
const SAID = { refusal: "no", reasoning: "hm", extra: { annotations: ["x"] } };

describe("an answer in types", () => {
  it("a whole one", () => {
    const [choice] = readChoices(WHOLE);
    expect(choice).toMatchObject({
      index: 1,
      finishReason: "tool_calls",
      message: { ...SAID, toolCalls: [{ id: "t1", name: "look", arguments: "{}" }] },
    });
    expect(choice?.message?.content).toBeUndefined();
  });

  it("a whole one as deltas says the same", () => {
    expect(wholeAsDeltas(WHOLE)).toMatchObject([
      {
        index: 1,
        finishReason: "tool_calls",
        ...SAID,
        toolCalls: [{ index: 0, id: "t1", name: "look", arguments: "{}" }],
      },
    ]);
  });

  it("a content in parts is their texts", () => {
    const content = [{ type: "text", text: "a" }, { type: "other" }, { type: "text", text: "b" }];
    expect(readChoices({ choices: [{ message: { content } }] })[0]?.message?.content).toBe("ab");
  });

  it("P2: parts of a content that are no text are told beside it, and thoughts as thoughts", () => {
    const content = [
      { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
      { type: "text", text: "a" },
      { type: "image_url", image_url: "https://h/i.png" },
    ];
    expect(readChoices({ choices: [{ message: { content } }] })[0]?.message).toMatchObject({
      content: "a",
      reasoning: "hm",
      extra: { content },
    });
    const [delta] = deltasOf({ choices: [{ delta: { content: content.slice(0, 2) } }] });
    expect(delta).toMatchObject({ content: "a", reasoning: "hm" });
    expect(delta?.extra).toBeUndefined();
  });

  it("P2: what has no field of its own is told as it came, in a stream too", () => {
    const logprobs = { content: [{ token: "x", logprob: -0.5 }] };
    const extra = { extra_content: { google: { thought_signature: "SIG" } } };
    const call = { id: "t1", type: "function", function: { name: "f", arguments: { a: [1] } }, ...extra };
    const choice = { logprobs, native_finish_reason: "STOP", content_filter_results: {} };
    const told = { logprobs, native_finish_reason: "STOP" };
    const [whole] = readChoices({ choices: [{ message: { tool_calls: [call] }, ...choice }] });
    const called = { id: "t1", name: "f", arguments: '{"a":[1]}', extra };
    expect(whole).toMatchObject({ extra: told, message: { toolCalls: [called] } });
    const answer = { choices: [{ message: { tool_calls: [call] }, ...choice }] };
    const delta = { choiceExtra: told, toolCalls: [{ index: 0, ...called }] };
    expect(wholeAsDeltas(answer)).toMatchObject([delta]);
    expect(deltasOf({ choices: [{ delta: { tool_calls: [call] }, ...choice }] })).toMatchObject([delta]);
    const beside = {
      id: "c",
      object: "x",
      model: "m",
      choices: [],
      usage: null,
      citations: ["https://h"],
      tier: "",
    };
    expect(readBeside(beside)).toEqual({ citations: ["https://h"] });
  });

  it("BH-26: what came with a call goes back with it", () => {
    const extra = { extra_content: { google: { thought_signature: "SIG" } } };
    const toolCalls = [{ id: "t1", name: "f", arguments: "{}", extra }];
    expect(body({ model: "g", messages: [{ role: Role.ASSISTANT, toolCalls }] })["messages"]).toEqual([
      {
        role: "assistant",
        tool_calls: [{ id: "t1", type: "function", function: { name: "f", arguments: "{}" }, ...extra }],
      },
    ]);
  });

  it("BH-19: calls are counted where their server gives them no number, or the same to all", () => {
    const piece = (call: JsonObject): JsonObject => ({
      choices: [{ index: 0, delta: { tool_calls: [call] } }],
    });
    const named = (id: string): JsonObject => ({ id, function: { name: "f", arguments: "" } });
    const more = { function: { arguments: "{}" } };
    const numbers = (...calls: readonly JsonObject[]) =>
      deltasOf(...calls.map(piece)).map(({ toolCalls }) => toolCalls[0]?.index);
    expect(numbers(named("a"), more, named("b"), more)).toEqual([0, 0, 1, 1]);
    expect(numbers({ index: 0, ...named("a") }, { index: 0, ...named("b") })).toEqual([0, 1]);
    expect(numbers({ index: 1, ...named("a") }, { index: 2, ...named("b") }, { index: 1, ...more })).toEqual([
      0, 1, 0,
    ]);
  });

  it("a number too large for JSON does not break the answer", () => {
    const answer = JSON.parse('{"choices":[{"message":{"content":"x","odd":1e999}}]}') as JsonObject;
    const [choice] = readChoices(answer);
    if (choice === undefined) throw new Error("no choice");
    const { message } = fromBinary(ChatChoiceSchema, toBinary(ChatChoiceSchema, choice));
    expect(message).toMatchObject({ content: "x", extra: { odd: null } });
  });

  it("what says nothing is no delta", () => {
    const opening = {
      choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }],
    };
    expect([opening, { choices: [] }, {}].map((event) => deltasOf(event))).toEqual([[], [], []]);
  });

  it.each([{}, { choices: null }, { choices: "x" }])("%j is no chat completion", (answer) => {
    expect(failureOf(() => readChoices(answer))).toMatchObject({
      code: "upstream_invalid_response",
      status: 502,
    });
  });
});

describe("embeddings", () => {
  it("a request as a body", () => {
    const asked = { model: "g", input: ["a"], extra: { model: "x", input_type: "query" } };
    expect(embedBody(create(EmbedRequestSchema, asked))).toEqual({
      model: "g",
      input: ["a"],
      input_type: "query",
    });
    expect(embedBody(create(EmbedRequestSchema, { ...asked, dimensions: 2, user: "u" }))).toMatchObject({
      dimensions: 2,
      user: "u",
    });
  });

  it("vectors come in the texts' order", () => {
    const data = [
      { index: 1, embedding: [2] },
      { index: 0, embedding: [1] },
    ];
    expect(readEmbeddings({ data }).map(({ values }) => values)).toEqual([[1], [2]]);
  });

  it.each([
    {},
    { data: [{ embedding: ["x"] }] },
    { data: [{}] },
    { data: [{ embedding: [1e39] }] },
    { data: [{ embedding: "AQI=" }] },
  ])("%j is no list of vectors", (answer) => {
    expect(failureOf(() => readEmbeddings(answer)).code).toBe("upstream_invalid_response");
  });
});

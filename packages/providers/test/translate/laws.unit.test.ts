import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FamilyName } from "../../src/families/capabilities.ts";
import type { Endpoint } from "@switchyard/core";
import { TranslationFault } from "../../src/translate/fault.ts";
import { bytesOf, cutAt, cuts } from "../support/bytes.ts";
import { answered, planOf, runStream, sent } from "../support/exchange.ts";
import { converseEvent } from "../support/frames.ts";
import { type ProviderCase, providerCases } from "../support/fixtures.ts";

const PAIRS: readonly [Endpoint, FamilyName][] = [
  ["chat", "anthropic"],
  ["messages", "openai"],
  ["messages", "openai_compatible"],
  ["chat", "gemini"],
  ["messages", "gemini"],
  ["chat", "bedrock"],
  ["messages", "bedrock"],
];

const streams = (families: readonly string[], endpoint: string): ProviderCase[] =>
  providerCases(families, endpoint).filter(({ stream, status }) => stream && status === 200);

const STREAMS = [
  ...streams(["anthropic"], "messages").map((found) => ({
    ...found,
    to: "chat" as const,
    from: "anthropic" as const,
  })),
  ...streams(
    ["openai", "azure-openai", "groq", "deepseek", "mistral", "ollama-vllm", "zai"],
    "chat.completions",
  ).map((found) => ({ ...found, to: "messages" as const, from: "openai_compatible" as const })),
  ...streams(["gemini", "vertex"], "streamGenerateContent").flatMap((found) =>
    (["chat", "messages"] as const).map((to) => ({ ...found, to, from: "gemini" as const })),
  ),
  ...streams(["bedrock"], "converse-stream").flatMap((found) =>
    (["chat", "messages"] as const).map((to) => ({ ...found, to, from: "bedrock" as const })),
  ),
];

describe("streams", () => {
  it.each(STREAMS)("P4, BH-13: $name cut anywhere gives the same events to $to", ({ body, to, from }) => {
    const request = { model: "g", max_tokens: 1, stream: true, messages: [] };
    const whole = runStream(planOf(to, from, request), [body]);
    fc.assert(
      fc.property(cuts, (places) => {
        expect(runStream(planOf(to, from, request), cutAt(body, places))).toStrictEqual(whole);
      }),
      { numRuns: 8 },
    );
  });
});

/** Words of both APIs, so that random requests come near to real ones. */
const word = fc.constantFrom(
  "text",
  "image_url",
  "image",
  "tool_use",
  "tool_result",
  "thinking",
  "function",
  "user",
  "assistant",
  "system",
  "tool",
  "developer",
  "auto",
  "any",
  "none",
  "required",
  "json_schema",
  "json_object",
  "enabled",
  "adaptive",
  "base64",
  "url",
  "https://h/x",
  "data:image/png;base64,AA==",
  "{}",
  '{"a":1}',
  "",
  "x",
  "high",
);
const key = fc.constantFrom(
  "type",
  "role",
  "content",
  "text",
  "name",
  "id",
  "input",
  "arguments",
  "function",
  "tool_calls",
  "tool_call_id",
  "tool_use_id",
  "source",
  "data",
  "media_type",
  "url",
  "image_url",
  "file",
  "file_data",
  "cache_control",
  "thinking",
  "signature",
  "reasoning_details",
  "parameters",
  "input_schema",
  "schema",
  "json_schema",
  "effort",
  "format",
  "title",
  "allOf",
  "properties",
  "const",
  "parts",
  "functionCall",
  "args",
  "partialArgs",
  "jsonPath",
  "willContinue",
  "thoughtSignature",
);
const { anything } = fc.letrec<{ anything: unknown }>((tie) => ({
  anything: fc.oneof(
    { depthSize: "small" },
    word,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("anything"), { maxLength: 3 }),
    fc.dictionary(key, tie("anything"), { maxKeys: 6 }),
  ),
}));
const field = fc.constantFrom(
  "system",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "max_tokens",
  "max_completion_tokens",
  "temperature",
  "top_p",
  "top_k",
  "stop",
  "stop_sequences",
  "response_format",
  "output_config",
  "output_format",
  "reasoning_effort",
  "reasoning",
  "thinking",
  "metadata",
  "user",
  "service_tier",
  "n",
  "logit_bias",
  "modalities",
  "new_field",
);
const message = fc.oneof(anything, fc.record({ role: word, content: anything }));

describe("requests", () => {
  it.each(PAIRS)(
    "P2: no %s body makes a translator for %s throw anything but the named 400",
    (endpoint, family) => {
      fc.assert(
        fc.property(
          fc.dictionary(field, anything, { maxKeys: 5 }),
          fc.array(message, { maxLength: 4 }),
          (fields, list) => {
            try {
              const body = { max_tokens: 9, ...fields, model: "g", messages: list };
              const plan = planOf(endpoint, family, body);
              expect(`${plan.request.path} ${sent(plan).text}`).toMatch(
                /"model":"m"|models\/m:|\/model\/m\/converse/u,
              );
            } catch (error) {
              if (!(error instanceof TranslationFault)) throw error;
              expect(error.param).not.toBe("");
              expect(error.message).toContain(`'${error.param}'`);
            }
          },
        ),
        { numRuns: 1500 },
      );
    },
  );

  const text = fc.string({ minLength: 1 }).filter((value) => value.trim() !== "");
  const id = fc.stringMatching(/^[a-z0-9_]{1,8}$/u);
  const turn = fc.record({
    said: text,
    calls: fc.uniqueArray(
      fc.record({ id, name: id, input: fc.dictionary(id, fc.oneof(text, fc.integer())) }),
      {
        selector: (call) => call.id,
        maxLength: 3,
      },
    ),
    results: fc.array(text, { minLength: 3, maxLength: 3 }),
  });

  it("P2: a conversation there and back keeps its meaning", () => {
    fc.assert(
      fc.property(fc.array(text), fc.array(turn, { maxLength: 4 }), text, (instructions, turns, last) => {
        const messages = [
          ...instructions.map((content) => ({ role: "system", content })),
          { role: "user", content: "begin" },
          ...turns.flatMap(({ said, calls, results }) => [
            {
              role: "assistant",
              content: said,
              ...(calls.length > 0
                ? {
                    tool_calls: calls.map((call) => ({
                      id: call.id,
                      type: "function",
                      function: { name: call.name, arguments: JSON.stringify(call.input) },
                    })),
                  }
                : {}),
            },
            ...calls.map((call, place) => ({ role: "tool", tool_call_id: call.id, content: results[place] })),
            { role: "user", content: last },
          ]),
        ];
        const there = sent(planOf("chat", "anthropic", { model: "g", max_tokens: 5, messages })).text;
        const back = sent(planOf("messages", "openai_compatible", there)).json;
        const joined =
          instructions.length > 0 ? [{ role: "system", content: instructions.join("\n\n") }] : [];
        expect(back["messages"]).toStrictEqual([
          ...joined,
          ...messages.filter(({ role }) => role !== "system"),
        ]);
        expect(back["max_tokens"]).toBe(5);
      }),
    );
  });
});

describe("answers", () => {
  const ANSWERS = [
    ...providerCases(["anthropic"], "messages"),
    ...providerCases(["openai", "azure-openai"], "chat.completions"),
  ].filter(({ stream, status }) => !stream && status === 200);

  it.each(ANSWERS)("P2: $name there and back says the same", ({ name, body }) => {
    const ask = { model: "g", max_tokens: 1, messages: [] };
    const [first, second] = name.startsWith("anthropic")
      ? [planOf("chat", "anthropic", ask), planOf("messages", "openai", ask)]
      : [planOf("messages", "openai", ask), planOf("chat", "anthropic", ask)];
    const there = answered(first, new TextDecoder().decode(body));
    const back = answered(second, JSON.stringify(there));
    const thereAgain = answered(first, JSON.stringify(back));
    // What a dialect words differently is settled after one round.
    expect(wordless(thereAgain)).toStrictEqual(wordless(there));
  });

  it.each(PAIRS)("P2: no %s answer from %s makes a reader throw", (endpoint, family) => {
    const plan = planOf(endpoint, family, { model: "g", max_tokens: 1, stream: true, messages: [] });
    fc.assert(
      fc.property(anything, anything, (one, two) => {
        const text = JSON.stringify({
          choices: [{ message: one, delta: one }],
          content: [one],
          type: "content_block_start",
          content_block: two,
          index: 0,
          delta: one,
          output: { message: { content: [one, two] } },
          stopReason: two,
          usage: one,
          candidates: [{ content: { parts: one }, finishReason: two }, one],
          promptFeedback: two,
        });
        expect(plan.readAnswer(bytesOf(text)).kind).toMatch(/usable|invalid|error/u);
        runStream(plan, [
          ...(family === "bedrock" ? converseFrames(one, two) : []),
          `data: ${text}\n\ndata: ${JSON.stringify({ choices: [{ delta: two, finish_reason: "stop" }], type: "content_block_delta", index: 0, delta: two })}\n\n`,
        ]);
      }),
      { numRuns: 500 },
    );
  });
});

function converseFrames(one: unknown, two: unknown): Uint8Array[] {
  return [
    converseEvent("contentBlockStart", { contentBlockIndex: 0, start: one }),
    converseEvent("contentBlockDelta", { contentBlockIndex: 0, delta: two }),
    converseEvent("contentBlockDelta", { contentBlockIndex: 1, delta: one }),
    converseEvent("contentBlockStop", { contentBlockIndex: 0 }),
    converseEvent("messageStop", { stopReason: two }),
    converseEvent("metadata", { usage: one, trace: two }),
  ];
}

/** The answer without what only its own dialect has a word for. */
function wordless(answer: unknown): unknown {
  const left = new Set(["native_finish_reason", "provider_specific", "stop_sequence"]);
  return JSON.parse(JSON.stringify(answer, (name, value: unknown) => (left.has(name) ? undefined : value)));
}

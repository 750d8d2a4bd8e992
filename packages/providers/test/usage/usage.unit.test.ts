import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { geminiUsage } from "../../src/dialects/gemini/usage.ts";
import { anthropicUsage, converseUsage, openAiUsage } from "../../src/dialects/usage.ts";
import type { TokenUsage } from "../../src/neutral/usage.ts";
import { parseJsonText } from "../../src/json/lossless.ts";

const READERS: readonly (readonly [string, (value: unknown) => TokenUsage | undefined])[] = [
  ["openai", openAiUsage],
  ["anthropic", anthropicUsage],
  ["converse", converseUsage],
  ["gemini", geminiUsage],
];

describe("OpenAI's usage", () => {
  it("tells audio apart, without what the cache gave of it", () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      prompt_tokens_details: {
        cached_tokens: 40,
        audio_tokens: 60,
        cached_tokens_details: { audio_tokens: 15 },
      },
      completion_tokens_details: { reasoning_tokens: 10, audio_tokens: 30 },
    };
    expect(openAiUsage(usage)).toStrictEqual({
      input: 100,
      output: 50,
      total: 150,
      cached: 40,
      reasoning: 10,
      audioInput: 45,
      audioOutput: 30,
    });
  });

  it.each([
    ["DeepSeek's cache", { prompt_tokens: 9, total_tokens: 9, prompt_cache_hit_tokens: 7 }, { cached: 7 }],
    ["a total alone", { total_tokens: 12 }, { input: 12, output: 0 }],
    ["no prompt", { completion_tokens: 5, total_tokens: 12 }, { input: 7, output: 5 }],
    [
      "thoughts that only the total shows",
      { prompt_tokens: 3, completion_tokens: 4, total_tokens: 17 },
      { output: 14, reasoning: 10 },
    ],
    [
      "a total that fits nothing",
      { prompt_tokens: 3, completion_tokens: 4, total_tokens: 17, reasoning_tokens: 2 },
      { output: 4, reasoning: 2 },
    ],
    [
      "written to a cache",
      { input_tokens: 9, input_tokens_details: { cache_write_tokens: 4 } },
      { cacheWritten: 4 },
    ],
  ])("%s", (_what, usage, expected) => {
    expect(openAiUsage(usage)).toMatchObject(expected);
  });

  it.each([
    ["OpenRouter", { cost: 0.25 }, 0.25],
    ["OpenRouter, free", { cost: 0 }, 0],
    [
      "OpenRouter with a vendor's own key",
      { cost: 0.25, is_byok: true, cost_details: { upstream_inference_cost: 0.5 } },
      0.75,
    ],
    [
      "OpenRouter, whose vendor is paid by it",
      { cost: 0.2, is_byok: false, cost_details: { upstream_inference_cost: 0.2 } },
      0.2,
    ],
    ["xAI in ticks", { cost_in_usd_ticks: 37_756_000 }, 0.0037756],
    ["xAI where Azure sends the bill", { cost_in_usd_ticks: 0 }, undefined],
    ["a negative one", { cost: -1 }, undefined],
    ["one that is no number", { cost: { total_cost: 1 } }, undefined],
    ["one beyond all numbers", parseJsonText('{"cost":1e999}'), undefined],
    ["digits that a double would change", parseJsonText('{"cost":6e-05}'), 0.00006],
  ])("the provider's own charge: %s", (_whose, charge, usd) => {
    const usage = openAiUsage({ prompt_tokens: 1, ...(charge as object) });
    expect(usage?.chargedUsd).toBe(usd);
  });
});

describe("Anthropic's usage", () => {
  it("sums both kinds of cache writes where their sum is not told", () => {
    const cache_creation = { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 7 };
    expect(anthropicUsage({ input_tokens: 1, output_tokens: 2, cache_creation })).toMatchObject({
      input: 13,
      cacheWritten: 12,
    });
    const both = { input_tokens: 1, output_tokens: 2, cache_creation_input_tokens: 12, cache_creation };
    expect(anthropicUsage(both)).toMatchObject({ input: 13, cacheWritten: 12 });
  });

  it("takes what a stream's end tells before what its start told, and keeps what the end leaves out", () => {
    const start = { input_tokens: 43, cache_read_input_tokens: 9, output_tokens: 1 };
    const end = { input_tokens: 61, cache_read_input_tokens: null, output_tokens: 20 };
    expect(anthropicUsage(start, end)).toMatchObject({ input: 70, cached: 9, output: 20 });
  });

  it("adds compactions, which are billed beside the answer, but no other model's steps", () => {
    const compaction = {
      type: "compaction",
      input_tokens: 100,
      cache_read_input_tokens: 30,
      output_tokens: 10,
    };
    const iterations = [
      compaction,
      { type: "message", input_tokens: 5, output_tokens: 6 },
      { type: "advisor_message", model: "other", input_tokens: 900, output_tokens: 900 },
    ];
    expect(anthropicUsage({ input_tokens: 5, output_tokens: 6, iterations })).toMatchObject({
      input: 135,
      cached: 30,
      output: 16,
      total: 151,
    });
  });
});

describe("Google's usage", () => {
  it("tells audio apart by its modalities", () => {
    const usage = {
      promptTokenCount: 100,
      candidatesTokenCount: 20,
      totalTokenCount: 130,
      cachedContentTokenCount: 40,
      thoughtsTokenCount: 10,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 30 },
        { modality: "AUDIO", tokenCount: 70 },
      ],
      cacheTokensDetails: [{ modality: "AUDIO", tokenCount: 25 }],
      candidatesTokensDetails: [{ modality: "AUDIO", tokenCount: 20 }],
    };
    expect(geminiUsage(usage)).toStrictEqual({
      input: 100,
      output: 30,
      total: 130,
      cached: 40,
      reasoning: 10,
      audioInput: 45,
      audioOutput: 20,
    });
  });
});

describe("whatever a provider claims", () => {
  const claim = fc.oneof(
    fc.nat(),
    fc.double(),
    fc.constantFrom(1e300, -5, 2.5, Number.MAX_SAFE_INTEGER, null, "7", [], {}, true),
    fc.constantFrom(parseJsonText("12.0"), parseJsonText("-1e2"), parseJsonText("1e999")),
  );
  const names = [
    "prompt_tokens completion_tokens total_tokens input_tokens output_tokens cached_tokens audio_tokens",
    "reasoning_tokens thinking_tokens cache_write_tokens cache_read_input_tokens cache_creation_input_tokens",
    "ephemeral_5m_input_tokens ephemeral_1h_input_tokens inputTokens outputTokens cacheReadInputTokens",
    "cacheWriteInputTokens promptTokenCount candidatesTokenCount totalTokenCount cachedContentTokenCount",
    "thoughtsTokenCount toolUsePromptTokenCount tokenCount cost cost_in_usd_ticks upstream_inference_cost",
  ].flatMap((line) => line.split(" "));
  const details = [
    "prompt_tokens_details completion_tokens_details input_tokens_details output_tokens_details",
    "cache_creation cached_tokens_details cost_details",
  ].flatMap((line) => line.split(" "));
  const flat = fc.dictionary(fc.constantFrom(...names), claim);
  const modalities = fc.array(
    flat.map((counts) => ({ ...counts, modality: "AUDIO" })),
    { maxLength: 3 },
  );
  const listed = fc.dictionary(
    fc.constantFrom("promptTokensDetails", "candidatesTokensDetails", "cacheTokensDetails"),
    modalities,
  );
  const steps = fc.array(
    flat.map((counts) => ({ ...counts, type: "compaction" })),
    { maxLength: 3 },
  );
  const usages = fc
    .tuple(flat, fc.dictionary(fc.constantFrom(...details), flat), listed, fc.option(steps), fc.boolean())
    .map(([counts, inner, lists, iterations, is_byok]) => ({
      ...counts,
      ...inner,
      ...lists,
      iterations,
      is_byok,
    }));

  it.each(READERS)(
    "%s: counts are whole, parts never exceed their whole, charges are amounts",
    (_name, read) => {
      fc.assert(
        fc.property(fc.oneof(usages, fc.anything()), (value) => {
          const usage = read(value);
          if (usage === undefined) return;
          const { cacheWritten = 0, audioInput = 0, audioOutput = 0, chargedUsd = 0, ...counts } = usage;
          const parts = { ...counts, cacheWritten, audioInput, audioOutput };
          for (const tokens of Object.values(parts)) {
            expect(Number.isInteger(tokens) && tokens >= 0).toBe(true);
          }
          expect(usage.cached + cacheWritten + audioInput).toBeLessThanOrEqual(usage.input);
          expect(usage.reasoning + audioOutput).toBeLessThanOrEqual(usage.output);
          expect(Number.isFinite(chargedUsd) && chargedUsd >= 0).toBe(true);
        }),
        { numRuns: 500 },
      );
    },
  );
});

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FamilyName } from "../../src/families/capabilities.ts";
import { TranslationFault } from "../../src/translate/fault.ts";
import { cutAt, cuts } from "../support/bytes.ts";
import { answered, eventsOf, planOf, runStream, sent } from "../support/exchange.ts";
import { providerCases } from "../support/fixtures.ts";

const COMPATIBLE = [
  "openai",
  "azure-openai",
  "groq",
  "deepseek",
  "mistral",
  "ollama-vllm",
  "zai",
  "xai",
  "openrouter",
];
const SOURCES: readonly [readonly string[], string, FamilyName][] = [
  [["anthropic"], "messages", "anthropic"],
  [COMPATIBLE, "chat.completions", "openai_compatible"],
  [["gemini"], "streamGenerateContent", "gemini"],
  [["bedrock"], "converse-stream", "bedrock"],
];

const STREAMS = SOURCES.flatMap(([families, endpoint, from]) =>
  providerCases(families, endpoint)
    .filter(({ stream, status }) => stream && status === 200)
    .map((found) => ({ ...found, from })),
);

const ASKED = { model: "g", input: "hi", stream: true, include: ["reasoning.encrypted_content"] };

type Told = Record<string, unknown> & { readonly type: string };

function told(from: FamilyName, body: Uint8Array): { events: Told[]; verdict: string } {
  const run = runStream(planOf("responses", from, ASKED), [body]);
  return { events: eventsOf(run.text) as Told[], verdict: run.verdict };
}

const itemsOf = (event: Told): Record<string, unknown>[] =>
  (event["response"] as { output: Record<string, unknown>[] }).output;

describe("BH-32 the stream of a response that others told", () => {
  it.each(STREAMS)("P4, BH-13: $name cut anywhere gives the same events", ({ body, from }) => {
    const whole = runStream(planOf("responses", from, ASKED), [body]);
    fc.assert(
      fc.property(cuts, (places) => {
        expect(runStream(planOf("responses", from, ASKED), cutAt(body, places))).toStrictEqual(whole);
      }),
      { numRuns: 4 },
    );
  });

  it.each(STREAMS)(
    "$name: numbers without gaps, each event under its name, one id, no words of another API",
    (found) => {
      const plan = planOf("responses", found.from, ASKED);
      const { text } = runStream(plan, [found.body]);
      const { events } = told(found.from, found.body);
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, place) => place));
      const names = [...text.matchAll(/^event: (.*)$/gmu)].map(([, name]) => name);
      expect(names).toEqual(events.map(({ type }) => type));
      const ids = events.flatMap((event) =>
        "response" in event ? [(event["response"] as { id: string }).id] : [],
      );
      expect(new Set(ids)).toEqual(new Set(["resp_1"]));
      expect(text).not.toMatch(/chat\.completion|\[DONE\]|message_stop/u);
    },
  );

  it.each(STREAMS)("$name: the final object is the sum of the deltas", ({ body, from }) => {
    const { events, verdict } = told(from, body);
    const last = events.at(-1) as Told;
    if (verdict !== "complete") {
      expect(last.type).not.toMatch(/^response\.(?:completed|incomplete)$/u);
      return;
    }
    expect(last.type).toMatch(/^response\.(?:completed|incomplete)$/u);
    const output = itemsOf(last);
    const done = events.filter(({ type }) => type === "response.output_item.done");
    for (const event of done) expect(output[event["output_index"] as number]).toEqual(event["item"]);
    expect(done).toHaveLength(output.length);
    for (const [index, item] of output.entries()) {
      const mine = events.filter((event) => event["output_index"] === index);
      const ids = mine.flatMap((event) => ("item_id" in event ? [event["item_id"]] : []));
      expect(ids.every((id) => id === item["id"])).toBe(true);
      expect(mine[0]?.type).toBe("response.output_item.added");
      const deltas = mine.filter(({ type }) => type.endsWith(".delta")).map((event) => event["delta"]);
      expect(deltas.join("")).toBe(textOfItem(item));
    }
  });
});

function textOfItem(item: Record<string, unknown>): string {
  if (item["type"] === "function_call") return item["arguments"] as string;
  const parts = (item["content"] ?? item["summary"]) as { text?: string; refusal?: string }[];
  return parts.map(({ text, refusal }) => text ?? refusal ?? "").join("");
}

const word = fc.constantFrom(
  "message",
  "function_call",
  "function_call_output",
  "reasoning",
  "input_text",
  "output_text",
  "input_image",
  "input_file",
  "refusal",
  "user",
  "assistant",
  "system",
  "function",
  "auto",
  "required",
  "json_schema",
  "low",
  "{}",
  "https://h/x",
  "data:image/png;base64,AA==",
  "anthropic-claude-v1.signature.x",
);
const key = fc.constantFrom(
  "type",
  "role",
  "content",
  "text",
  "call_id",
  "name",
  "arguments",
  "output",
  "summary",
  "encrypted_content",
  "image_url",
  "file_data",
  "parameters",
  "format",
  "schema",
  "effort",
  "refusal",
);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    word,
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.string({ maxLength: 4 }),
    fc.array(tie("any"), { maxLength: 4 }),
    fc.dictionary(key, tie("any"), { maxKeys: 5 }),
  ),
})).any;
const body = fc.dictionary(
  fc.constantFrom(
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "reasoning",
    "text",
    "include",
    "metadata",
    "store",
  ),
  value,
);

describe("requests", () => {
  it.each(["openai_compatible", "anthropic", "gemini", "bedrock"] as const)(
    "P2: no request to %s throws anything but a named 400",
    (family) => {
      fc.assert(
        fc.property(body, (fields) => {
          try {
            sent(planOf("responses", family, { input: "hi", ...fields, model: "g" }));
          } catch (error) {
            expect(error).toBeInstanceOf(TranslationFault);
          }
        }),
        { numRuns: 400 },
      );
    },
  );

  it("there and back: what an answer says comes to the next turn as it was said", () => {
    const text = fc.string({ minLength: 1, maxLength: 12 });
    const args = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 });
    fc.assert(
      fc.property(fc.option(text, { nil: null }), fc.array(args, { maxLength: 3 }), (content, calls) => {
        fc.pre(content !== null || calls.length > 0);
        const tool_calls = calls.map((input, place) => ({
          id: `c${place}`,
          type: "function",
          function: { name: "f", arguments: JSON.stringify(input) },
        }));
        const message = { role: "assistant", content, ...(calls.length > 0 ? { tool_calls } : {}) };
        const answer = { id: "c", model: "m", choices: [{ index: 0, message, finish_reason: "stop" }] };
        const first = answered(planOf("responses", "openai_compatible", { model: "g", input: "hi" }), answer);
        const input = [...(first["output"] as object[]), { role: "user", content: "go on" }];
        const { messages } = sent(planOf("responses", "openai_compatible", { model: "g", input })).json as {
          messages: object[];
        };
        expect(messages[0]).toEqual(message);
      }),
      { numRuns: 200 },
    );
  });
});

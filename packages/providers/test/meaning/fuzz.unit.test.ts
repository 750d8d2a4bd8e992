import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FamilyName } from "../../src/families/capabilities.ts";
import { readRequestFacts } from "../../src/request/facts.ts";
import { TranslationFault } from "../../src/translate/fault.ts";
import { bytesOf, cutAt, cuts } from "../support/bytes.ts";
import { planOf, runStream, sent } from "../support/exchange.ts";
import { converseEvent } from "../support/frames.ts";
import { converseFrames } from "./converse-reader.ts";
import { conversations } from "./conversation.ts";
import type { CallerDialect } from "./losses.ts";
import { mutated, mutations } from "./mutation.ts";
import { type Pair, pairs } from "./recorded.ts";
import { writeChat, writeMessages, writeResponses } from "./request-writers.ts";
import { parseOrText, sseEvents } from "./values.ts";

const WRITERS = { chat: writeChat, messages: writeMessages, responses: writeResponses };
const TARGETS: readonly FamilyName[] = [
  "openai",
  "openai_compatible",
  "azure_openai",
  "anthropic",
  "gemini",
  "bedrock",
];
const ASKED = (["chat", "messages", "responses"] as const).flatMap((caller) =>
  TARGETS.map((target) => ({ caller, target })),
);
const WISHES = {
  links: true,
  failures: true,
  topK: false,
  stop: true,
  caches: true,
  oddIds: false,
  parallel: true,
  late: false,
};

describe("requests with anything anywhere", () => {
  it.each(ASKED)("P2: $caller to $target throws nothing but the named 400", ({ caller, target }) => {
    fc.assert(
      fc.property(conversations(WISHES), mutations, (asked, changes) => {
        const body = mutated(WRITERS[caller](asked), changes);
        if (!readRequestFacts(caller, bytesOf(body)).ok) return;
        try {
          expect(sent(planOf(caller, target, body)).text).not.toBe("");
        } catch (error) {
          expect(error).toBeInstanceOf(TranslationFault);
          const { param, message, code } = error as TranslationFault;
          expect({ param, message, code }).toEqual({
            param: expect.stringMatching(/./su),
            message: expect.stringContaining(param ?? ""),
            code: expect.stringMatching(/^\w+$/u),
          });
        }
      }),
      { numRuns: 60 },
    );
  });
});

const ANSWERS = pairs().pairs.filter(({ status }) => status === 200);
const STREAMS = ANSWERS.filter(({ stream }) => stream);

describe("answers with anything anywhere", () => {
  it.each(ANSWERS.filter(({ stream }) => !stream))("P2: $name to $dialect is read or judged", (pair) => {
    const body: unknown = parseOrText(new TextDecoder().decode(pair.recorded.body));
    const plan = planFor(pair);
    fc.assert(
      fc.property(mutations, (changes) => {
        expect(plan.readAnswer(bytesOf(mutated(body, changes))).kind).toMatch(/^(?:usable|invalid|error)$/u);
      }),
      { numRuns: 8 },
    );
  });

  it.each(STREAMS)("P4: $name to $dialect is read or ended", (pair) => {
    const events = eventsOf(pair);
    fc.assert(
      fc.property(fc.nat(10_000), mutations, (place, changes) => {
        const at = place % events.length;
        const pieces = events.map(({ value, write }, index) =>
          write(index === at ? mutated(value, changes) : JSON.stringify(value)),
        );
        expect(runStream(planFor(pair), pieces).verdict).toMatch(/^(?:complete|cut|empty)$/u);
      }),
      { numRuns: 6 },
    );
  });

  it.each(STREAMS)("P4, BH-13: $name cut anywhere is the golden stream in $dialect", (pair) => {
    fc.assert(
      fc.property(cuts, (places) => {
        const run = runStream(planFor(pair), cutAt(pair.recorded.body, places));
        expect({ text: run.text, verdict: run.verdict }).toEqual({
          text: pair.golden,
          verdict: pair.verdict,
        });
      }),
      { numRuns: 2 },
    );
  });
});

const FAMILIES: Readonly<Record<string, FamilyName>> = {
  messages: "anthropic",
  converse: "bedrock",
  "converse-stream": "bedrock",
  generateContent: "gemini",
  streamGenerateContent: "gemini",
};

function planFor({ dialect, stream, recorded }: Pair): ReturnType<typeof planOf> {
  return planOf(dialect, FAMILIES[recorded.endpoint] ?? "openai_compatible", askFor(dialect, stream));
}

function askFor(dialect: CallerDialect, stream: boolean): object {
  const messages = [{ role: "user", content: "hi" }];
  switch (dialect) {
    case "chat":
      return { model: "g", stream, stream_options: { include_usage: true }, messages };
    case "messages":
      return { model: "g", stream, max_tokens: 10, messages };
    case "responses":
      return { model: "g", stream, input: "hi", include: ["reasoning.encrypted_content"] };
  }
}

interface Written {
  readonly value: unknown;
  readonly write: (json: string) => Uint8Array | string;
}

function eventsOf({ recorded: { endpoint, body } }: Pair): Written[] {
  if (endpoint === "converse-stream")
    return converseFrames(body).map(({ type, payload }) => ({
      value: payload,
      write: (json) => converseEvent(type, json),
    }));
  return sseEvents(new TextDecoder().decode(body)).map(({ name, data }) => ({
    value: parseOrText(data),
    write: (json) => `${name === "" ? "" : `event: ${name}\n`}data: ${data === "[DONE]" ? data : json}\n\n`,
  }));
}

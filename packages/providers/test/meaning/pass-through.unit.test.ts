import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FamilyName } from "../../src/families/capabilities.ts";
import { concat, cutAt, cuts, textOf } from "../support/bytes.ts";
import { planOf, runStream } from "../support/exchange.ts";
import { type ProviderCase, providerCases } from "../support/fixtures.ts";
import { readChat, readChatStream } from "./chat-reader.ts";
import type { CallerDialect } from "./losses.ts";
import type { Usage } from "./meaning.ts";
import { readMessage, readMessageStream } from "./messages-reader.ts";
import { FAMILIES } from "./recorded.ts";

interface Native {
  readonly recorded: ProviderCase;
  readonly endpoint: CallerDialect;
  readonly family: FamilyName;
}

const native = (recordedAs: string, endpoint: CallerDialect, family: FamilyName): Native[] =>
  providerCases(FAMILIES, recordedAs)
    .filter(({ status }) => status === 200)
    .map((recorded) => ({ recorded, endpoint, family }));

const CASES = [
  ...native("chat.completions", "chat", "openai_compatible"),
  ...native("messages", "messages", "anthropic"),
  ...native("responses", "responses", "openai"),
].map((found) => ({ ...found, name: found.recorded.name }));

const ASKED: Readonly<Record<CallerDialect, object>> = {
  chat: { messages: [], stream_options: { include_usage: true } },
  messages: { messages: [], max_tokens: 9 },
  responses: { input: "hi" },
};

const planFor = ({ endpoint, family, recorded }: Native): ReturnType<typeof planOf> =>
  planOf(endpoint, family, { model: "g", stream: recorded.stream, ...ASKED[endpoint] });

describe("what needs no translation passes byte for byte", () => {
  it.each(CASES.filter(({ recorded }) => !recorded.stream))("P1: $name, $endpoint", (found) => {
    const reading = planFor(found).readAnswer(found.recorded.body);
    expect(reading.kind).toBe("usable");
    if (reading.kind === "usable") expect(textOf(reading.body)).toBe(textOf(found.recorded.body));
  });

  it.each(CASES.filter(({ recorded }) => recorded.stream))("P1: $name, $endpoint, cut anywhere", (found) => {
    fc.assert(
      fc.property(cuts, (places) => {
        const pieces = cutAt(found.recorded.body, places);
        const { text, verdict } = runStream(planFor(found), pieces);
        if (verdict === "complete") expect(text).toBe(textOf(concat(pieces)));
        else expect(textOf(concat(pieces)).startsWith(text)).toBe(true);
      }),
      { numRuns: 4 },
    );
  });

  it.each(CASES.filter(({ endpoint }) => endpoint !== "responses"))(
    "P6: $name, the usage that it tells",
    (found) => {
      const { stream, body } = found.recorded;
      const whole = textOf(body);
      const read =
        found.endpoint === "chat"
          ? (stream ? readChatStream : readChat)(whole)
          : (stream ? readMessageStream : readMessage)(whole);
      const told = stream ? runStream(planFor(found), [body]) : planFor(found).readAnswer(body);
      // A stream that was cut tells none.
      if ("verdict" in told && told.verdict !== "complete") return;
      const usage = "usage" in told ? told.usage : undefined;
      const { input, output, cached, reasoning, cacheWritten = 0 } = usage ?? {};
      const counted: Partial<Usage> | undefined =
        usage && ({ input, output, cached, cacheWritten, reasoning } as Usage);
      expect(counted).toEqual(read.usage);
    },
  );
});

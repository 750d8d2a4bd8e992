import { describe, expect, it } from "vitest";
import { parseJsonText, printJson } from "../../src/json/lossless.ts";
import type { AnswerEvent } from "../../src/neutral/events.ts";
import type { AnswerContext } from "../../src/dialects/format.ts";
import { CALLER_FORMATS, PROVIDER_FORMATS } from "../../src/exchange/formats.ts";
import { type Pair, pairs, readGolden } from "./recorded.ts";

const PAIRS = pairs().pairs.filter(({ status, verdict }) => status === 200 && verdict !== "cut");

const WIRES: Readonly<Record<string, string>> = {
  "chat.completions": "chat",
  "converse-stream": "converse",
  generateContent: "generate_content",
  streamGenerateContent: "generate_content",
};

const CONTEXT: AnswerContext = {
  createdAt: 1_700_000_000,
  model: "m",
  requestId: "req_1",
  usageAsked: true,
  request: { include: ["reasoning.encrypted_content"] },
};

describe("what streams and what does not say the same", () => {
  it.each(PAIRS)("P4: $name in $dialect, told the other way", (pair) => {
    expect(readGolden({ ...pair, stream: !pair.stream, golden: toldOtherwise(pair) })).toEqual(
      readGolden(pair),
    );
  });
});

/** A recorded stream as one answer, a recorded answer as a stream. */
function toldOtherwise({ recorded: { endpoint, body }, stream, dialect }: Pair): string {
  const from = PROVIDER_FORMATS[(WIRES[endpoint] ?? endpoint) as keyof typeof PROVIDER_FORMATS];
  const to = CALLER_FORMATS[dialect];
  if (from === undefined || to === undefined) throw new Error(`${endpoint} is not translated`);
  const events: AnswerEvent[] = [];
  if (stream) {
    const decoder = from.openStream((event) => events.push(event), CONTEXT);
    decoder.push(body);
    decoder.finish();
    return printJson(to.encodeAnswer(events, CONTEXT));
  }
  const encoder = to.openStream(CONTEXT);
  from.decodeAnswer(
    parseJsonText(new TextDecoder().decode(body)) ?? null,
    (event) => events.push(event),
    CONTEXT,
  );
  return events.map((event) => encoder.encode(event)).join("");
}

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readCountAnswer, readMessagesAnswer } from "../../src/dialects/anthropic/answer.ts";
import { MessagesStreamReader } from "../../src/dialects/anthropic/messages-stream.ts";
import type { StreamVerdict } from "../../src/dialects/dialect.ts";
import { bytesOf, concat, cutAt, cuts, textOf } from "../support/bytes.ts";
import { providerCases } from "../support/fixtures.ts";

const AE = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const START = AE("message_start", {
  message: { model: "claude", usage: { input_tokens: 5, output_tokens: 1 } },
});
const PING = AE("ping");
const TEXT = AE("content_block_delta", { index: 0, delta: { type: "text_delta", text: "x" } });
const END = AE("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 9 } });
const STOP = AE("message_stop");

function run(chunks: readonly Uint8Array[]): {
  reader: MessagesStreamReader;
  text: string;
  verdict: StreamVerdict;
} {
  const reader = new MessagesStreamReader();
  const out: Uint8Array[] = [];
  for (const piece of chunks) reader.push(piece, out);
  const verdict = reader.finish(out);
  return { reader, text: textOf(concat(out)), verdict };
}

const RECORDED = providerCases(["anthropic"], "messages").filter(
  ({ stream, status }) => stream && status === 200,
);

describe("recorded streams of messages", () => {
  it("are there", () => {
    expect(RECORDED.length).toBeGreaterThanOrEqual(10);
  });

  it.each(RECORDED)("P1, P4: $name passes byte for byte, cut anywhere, and is complete", ({ body }) => {
    const whole = run([body]);
    expect(whole.verdict).toBe("complete");
    expect(whole.reader.usage?.output).toBeGreaterThan(0);
    expect(whole.reader.model).toContain("claude");
    fc.assert(
      fc.property(cuts, (places) => {
        const { reader, text, verdict } = run(cutAt(body, places));
        expect(text).toBe(textOf(body));
        expect(verdict).toBe("complete");
        expect(reader.usage).toStrictEqual(whole.reader.usage);
      }),
      { numRuns: 20 },
    );
  });
});

describe("a stream of messages", () => {
  const committed = (...events: string[]): boolean => run(events.map(bytesOf)).reader.committed;
  const start = (content_block: object): string => AE("content_block_start", { index: 0, content_block });

  it("E6: what commits", () => {
    expect(
      committed(START, PING, start({ type: "text", text: "" }), start({ type: "thinking", thinking: "" })),
    ).toBe(false);
    expect(committed(AE("content_block_delta", { delta: { type: "text_delta", text: "" } }))).toBe(false);
    expect(
      committed(AE("message_delta", { delta: { stop_reason: null }, usage: { output_tokens: 1 } })),
    ).toBe(false);
    expect(committed(TEXT)).toBe(true);
    expect(committed(AE("content_block_delta", { delta: { type: "thinking_delta", thinking: "x" } }))).toBe(
      true,
    );
    expect(
      committed(AE("content_block_delta", { delta: { type: "input_json_delta", partial_json: "{" } })),
    ).toBe(true);
    expect(committed(start({ type: "tool_use", id: "t", name: "f", input: {} }))).toBe(true);
    expect(committed(END)).toBe(true);
  });

  it("BH-16: only message_stop ends it", () => {
    expect(run([bytesOf(START + TEXT + END + STOP)]).verdict).toBe("complete");
    expect(run([bytesOf(START + TEXT + END)]).verdict).toBe("cut");
    expect(run([bytesOf(START + TEXT)]).verdict).toBe("cut");
    expect(run([bytesOf(START + STOP)])).toMatchObject({ verdict: "empty", reader: { done: true } });
    expect(run([]).verdict).toBe("empty");
  });

  it.each([
    ["event: error\ndata: nonsense\n\n", "nonsense"],
    ['data: {"type":"error","error":{"type":"overloaded_error"}}\n\n', "overloaded_error"],
  ])("BH-05: an error does not go on: %s", (event, failure) => {
    const { reader, text, verdict } = run([bytesOf(START + TEXT + event + STOP)]);
    expect(text).toBe(START + TEXT);
    expect(verdict).toBe("cut");
    expect(textOf(reader.failure ?? new Uint8Array())).toContain(failure);
  });

  it("BH-14: CRLF and no space after the colon change nothing", () => {
    const crlf = (START + TEXT + END + STOP).replaceAll("\n", "\r\n").replaceAll("data: ", "data:");
    const { reader, verdict, text } = run(
      cutAt(
        bytesOf(crlf),
        Array.from(crlf, (_, place) => place),
      ),
    );
    expect({ verdict, text }).toStrictEqual({ verdict: "complete", text: crlf });
    expect(reader.usage).toMatchObject({ input: 5, output: 9, total: 14 });
  });

  it("what was cut off in the middle of an event does not go on", () => {
    expect(run([bytesOf(`${START}${TEXT}event: content_block_delta\ndata: {"type":"cont`)]).text).toBe(
      START + TEXT,
    );
  });
});

describe("answers", () => {
  const read = (value: object): string => readMessagesAnswer(bytesOf(JSON.stringify(value))).kind;

  it("BH-07: a 200 is judged by what it holds", () => {
    expect(read({ type: "message", content: [{ type: "text", text: "x" }] })).toBe("usable");
    expect(read({ type: "message", content: [], stop_reason: "end_turn" })).toBe("usable");
    expect(read({ type: "message", content: [] })).toBe("invalid");
    expect(read({ choices: [{}] })).toBe("invalid");
    expect(read({ type: "error", error: { type: "api_error" } })).toBe("error");
    expect(readMessagesAnswer(bytesOf("<html>")).kind).toBe("invalid");
  });

  it("count_tokens needs a count", () => {
    expect(readCountAnswer(bytesOf('{"input_tokens":12}')).kind).toBe("usable");
    expect(readCountAnswer(bytesOf('{"input_tokens":null}')).kind).toBe("invalid");
    expect(readCountAnswer(bytesOf('{"error":{"message":"x"}}')).kind).toBe("error");
  });
});

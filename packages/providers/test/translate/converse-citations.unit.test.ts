import { describe, expect, it } from "vitest";
import { concat } from "../support/bytes.ts";
import { answered, eventsOf, planOf, runStream } from "../support/exchange.ts";
import { converseEvent } from "../support/frames.ts";

const BODY = { model: "g", max_tokens: 9, messages: [{ role: "user", content: "hi" }] };
const citation = (location: object): object => ({
  location,
  sourceContent: [{ text: "Ruby is " }, { text: "old." }],
  title: "facts",
});
const CITED = citation({ documentChar: { documentIndex: 1, start: 3, end: 15 } });
const WEB = citation({ web: { url: "https://r.example" } });
const NATIVE = {
  type: "char_location",
  cited_text: "Ruby is old.",
  document_index: 1,
  document_title: "facts",
  file_id: null,
  start_char_index: 3,
  end_char_index: 15,
};
const answer = (content: readonly object[]): object => ({
  output: { message: { role: "assistant", content } },
  stopReason: "end_turn",
});

describe("citations of Converse", () => {
  it("P2: stand in messages on the block of text that they are about", () => {
    const told = answered(
      planOf("messages", "bedrock", BODY),
      answer([
        { text: "Indeed: " },
        { citationsContent: { content: [{ text: "it is " }, { text: "old" }], citations: [CITED, WEB] } },
        { text: "." },
      ]),
    );
    expect(told["content"]).toStrictEqual([
      { type: "text", text: "Indeed: " },
      { type: "text", text: "it is old", citations: [NATIVE] },
      { type: "text", text: "." },
    ]);
    expect(told["provider_specific"]).toStrictEqual([{ type: "citation", citation: WEB }]);
  });

  it.each([
    [
      { documentPage: { documentIndex: 0, start: 2, end: 4 } },
      { type: "page_location", start_page_number: 2, end_page_number: 4 },
    ],
    [
      { documentChunk: { documentIndex: 0, start: 0, end: 1 } },
      { type: "content_block_location", start_block_index: 0, end_block_index: 1 },
    ],
  ])("P2: %j is %j", (location, native) => {
    const cited = { content: [{ text: "x" }], citations: [citation(location)] };
    const told = answered(planOf("messages", "bedrock", BODY), answer([{ citationsContent: cited }]));
    expect(told["content"]).toMatchObject([{ citations: [{ ...native, document_index: 0 }] }]);
  });

  const delta = (contentBlockIndex: number, value: object): Uint8Array =>
    converseEvent("contentBlockDelta", { contentBlockIndex, delta: value });
  const stop = (contentBlockIndex: number): Uint8Array =>
    converseEvent("contentBlockStop", { contentBlockIndex });
  const FRAMES = concat([
    converseEvent("messageStart", { role: "assistant" }),
    delta(0, { text: "Indeed: " }),
    stop(0),
    delta(1, { citation: CITED }),
    delta(1, { text: "it is " }),
    delta(1, { text: "old" }),
    stop(1),
    delta(2, { text: "." }),
    stop(2),
    converseEvent("messageStop", { stopReason: "end_turn" }),
  ]);

  it("P2, P4: and in a stream, block by block", () => {
    const { text } = runStream(planOf("messages", "bedrock", { ...BODY, stream: true }), [FRAMES]);
    const blocks = eventsOf(text).filter(({ type }) => String(type).startsWith("content_block"));
    expect(blocks.map(({ index, type, delta: said }) => [index, type, said])).toStrictEqual([
      [0, "content_block_start", undefined],
      [0, "content_block_delta", { type: "text_delta", text: "Indeed: " }],
      [0, "content_block_stop", undefined],
      [1, "content_block_start", undefined],
      [1, "content_block_delta", { type: "citations_delta", citation: NATIVE }],
      [1, "content_block_delta", { type: "text_delta", text: "it is " }],
      [1, "content_block_delta", { type: "text_delta", text: "old" }],
      [1, "content_block_stop", undefined],
      [2, "content_block_start", undefined],
      [2, "content_block_delta", { type: "text_delta", text: "." }],
      [2, "content_block_stop", undefined],
    ]);
  });

  it("P2: chat and responses have no word for documents, so they get them as they came", () => {
    const body = answer([{ citationsContent: { content: [{ text: "x" }], citations: [CITED] } }]);
    const others = [{ type: "citation", citation: CITED }];
    expect(answered(planOf("chat", "bedrock", BODY), body)["choices"]).toMatchObject([
      { message: { content: "x", provider_specific: others } },
    ]);
    expect(answered(planOf("responses", "bedrock", { model: "g", input: "hi" }), body)).toMatchObject({
      provider_specific: others,
    });
  });
});

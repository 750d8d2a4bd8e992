import { describe, expect, it } from "vitest";
import { answered, eventsOf, planOf, runStream } from "../support/exchange.ts";

const CHAT = { model: "g", messages: [{ role: "user", content: "hi" }] };
const MESSAGE = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude",
  content: [{ type: "text", text: "x" }],
  stop_reason: "end_turn",
  stop_sequence: null,
};
const AE = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

const chatChoice = (message: object): Record<string, unknown> => {
  const [choice] = answered(planOf("chat", "anthropic", CHAT), message)["choices"] as Record<
    string,
    unknown
  >[];
  return choice ?? {};
};

describe("what stands beside the content", () => {
  const container = { id: "container_1", expires_at: "2026-01-01T00:00:00Z" };
  const details = { type: "refusal", category: "cyber", explanation: "Not this." };
  const edited = { applied_edits: [{ type: "clear_tool_uses_20250919", cleared_input_tokens: 9 }] };
  const told = [
    { type: "container", container },
    { type: "context_management", context_management: edited },
    { type: "stop_details", stop_details: details },
  ];

  it("P2: container, edits and the details of a refusal go on, whole", () => {
    const choice = chatChoice({
      ...MESSAGE,
      container,
      context_management: edited,
      stop_reason: "refusal",
      stop_details: details,
    });
    expect(choice).toMatchObject({
      finish_reason: "content_filter",
      message: { refusal: "Not this.", provider_specific: told },
    });
  });

  it("P2: and in a stream, once", () => {
    const { text } = runStream(planOf("chat", "anthropic", { ...CHAT, stream: true }), [
      AE("message_start", { message: { ...MESSAGE, content: [], container } }),
      AE("message_delta", { delta: { stop_reason: null }, usage: { output_tokens: 1 } }),
      AE("message_delta", {
        delta: { stop_reason: "refusal", stop_details: details },
        context_management: edited,
      }),
      AE("message_stop"),
    ]);
    const others = eventsOf(text).flatMap((chunk) => {
      const [choice] = chunk["choices"] as { delta: { provider_specific?: unknown[] } }[];
      return choice?.delta.provider_specific ?? [];
    });
    expect(others).toStrictEqual(told);
  });

  it("nothing is told of what says nothing", () => {
    const choice = chatChoice({
      ...MESSAGE,
      container: null,
      stop_details: null,
      context_management: { applied_edits: [] },
    });
    expect(choice["message"]).not.toHaveProperty("provider_specific");
  });
});

describe("the stop sequence that was met", () => {
  const met = { stop_reason: "stop_sequence", stop_sequence: "END" };
  const stopped = { finish_reason: "stop", native_finish_reason: "stop_sequence", stop_reason: "END" };

  it("P2: is told to callers of chat, whole and streamed", () => {
    expect(chatChoice({ ...MESSAGE, ...met })).toMatchObject(stopped);
    const { text } = runStream(planOf("chat", "anthropic", { ...CHAT, stream: true }), [
      AE("message_start", { message: { ...MESSAGE, content: [] } }),
      AE("message_delta", { delta: met }),
      AE("message_stop"),
    ]);
    expect(eventsOf(text).at(-1)).toMatchObject({ choices: [stopped] });
  });

  it("is nothing where none was met", () => {
    expect(chatChoice(MESSAGE)).not.toHaveProperty("stop_reason");
  });
});

describe("thinking in a stream of chat", () => {
  const block = (index: number, content_block: object, ...deltas: readonly object[]): string =>
    [
      AE("content_block_start", { index, content_block }),
      ...deltas.map((delta) => AE("content_block_delta", { index, delta })),
      AE("content_block_stop", { index }),
    ].join("");
  const thinking = { type: "thinking", thinking: "", signature: "" };

  // Node's helper keeps the last list of a field that it does not know, Python's joins texts in it: `format` too.
  it("P2: is given to be given back in one delta, each thought whole", () => {
    const { text } = runStream(planOf("chat", "anthropic", { ...CHAT, stream: true }), [
      AE("message_start", { message: { ...MESSAGE, content: [] } }),
      block(
        0,
        thinking,
        { type: "thinking_delta", thinking: "one " },
        { type: "thinking_delta", thinking: "two" },
        { type: "signature_delta", signature: "S1" },
      ),
      block(1, { type: "redacted_thinking", data: "R" }),
      block(2, thinking, { type: "signature_delta", signature: "S2" }),
      block(3, { type: "text", text: "" }, { type: "text_delta", text: "x" }),
      AE("message_delta", { delta: { stop_reason: "end_turn" } }),
      AE("message_stop"),
    ]);
    const deltas = eventsOf(text).flatMap((chunk) => {
      const [choice] = chunk["choices"] as { delta: Record<string, unknown> }[];
      return choice?.delta ?? [];
    });
    const format = "anthropic-claude-v1";
    expect(deltas).toStrictEqual([
      { role: "assistant", content: "" },
      { reasoning_content: "one " },
      { reasoning_content: "two" },
      { content: "x" },
      {
        reasoning_details: [
          { type: "reasoning.text", text: "one two", format, index: 0, signature: "S1" },
          { type: "reasoning.encrypted", data: "R", format, index: 1 },
          { type: "reasoning.text", text: "", format, index: 2, signature: "S2" },
        ],
      },
      {},
    ]);
  });
});

import { describe, expect, it } from "vitest";
import { answered, eventsOf, planOf, runStream, sent } from "../support/exchange.ts";

const ASK = { model: "g", max_tokens: 9, messages: [{ role: "user", content: "hi" }] };
const call = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };

/** What a caller of messages gets of these texts and a call, whole and as the blocks of a stream. */
function toldOf(texts: readonly string[], calls: readonly object[]): { whole: unknown; streamed: unknown } {
  const message = {
    role: "assistant",
    content: texts.join(""),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
  const finish_reason = calls.length > 0 ? "tool_calls" : "stop";
  const whole = answered(planOf("messages", "openai_compatible", ASK), {
    id: "c",
    model: "m",
    choices: [{ index: 0, message, finish_reason }],
  })["content"];
  const chunk = (delta: object, finish: string | null = null): string =>
    `data: ${JSON.stringify({ id: "c", model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const { text, verdict } = runStream(planOf("messages", "openai_compatible", { ...ASK, stream: true }), [
    ...texts.map((content) => chunk({ content })),
    ...calls.map((each, index) => chunk({ tool_calls: [{ index, ...each }] })),
    chunk({}, finish_reason),
    "data: [DONE]\n\n",
  ]);
  expect(verdict).toBe("complete");
  const blocks: Record<string, unknown>[] = [];
  for (const { index, content_block: block, delta } of eventsOf(text)) {
    if (block !== undefined) blocks[index as number] = block as Record<string, unknown>;
    const said = (delta as { text?: string } | undefined)?.text;
    const open = blocks[index as number];
    if (said !== undefined && open !== undefined) open["text"] = `${open["text"] as string}${said}`;
  }
  return { whole, streamed: blocks };
}

describe("issue 4, item 7: a text of white space alone, which Claude refuses to get back", () => {
  const used = { type: "tool_use", id: "a", name: "f", input: {} };

  it.each<[readonly string[], readonly object[], readonly object[]]>([
    [["\n\n"], [call], [used]],
    [["\n", " "], [call], [used]],
    [["\n", "so"], [call], [{ type: "text", text: "\nso" }, used]],
    [["so", "\n"], [call], [{ type: "text", text: "so\n" }, used]],
    [["\n", "\n"], [], [{ type: "text", text: "\n\n" }]],
    [["a", " ", "b"], [], [{ type: "text", text: "a b" }]],
  ])("%j is told to callers of messages where it says something", (texts, calls, blocks) => {
    expect(toldOf(texts, calls)).toEqual({ whole: blocks, streamed: blocks });
  });

  it.each(["anthropic", "bedrock"] as const)("is not said to %s", (family) => {
    const messages = [
      { role: "system", content: " " },
      { role: "user", content: "hi" },
      { role: "assistant", content: "\n\n", tool_calls: [call] },
      { role: "tool", tool_call_id: "a", content: "\n" },
    ];
    const { json } = sent(planOf("chat", family, { model: "g", messages }));
    expect(JSON.stringify(json)).not.toMatch(/"text":"(?:\s|\\n)*"/u);
    expect(json["system"]).toBeUndefined();
    expect((json["messages"] as { content: unknown[] }[]).map(({ content }) => content.length)).toEqual([
      1, 1, 1,
    ]);
  });
});

describe("BH-21: roles take turns at Gemini", () => {
  it("also where an answer between them said nothing", () => {
    const messages = [
      { role: "user", content: "a" },
      { role: "assistant", content: "" },
      { role: "user", content: "b" },
    ];
    expect(sent(planOf("chat", "gemini", { model: "g", messages })).json["contents"]).toEqual([
      { role: "user", parts: [{ text: "a" }, { text: "b" }] },
    ]);
  });
});

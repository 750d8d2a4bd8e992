import { joined } from "../../src/json/splice.ts";
import { describe, expect, it } from "vitest";
import { answered, eventsOf, planOf, runStream, type StreamRun } from "../support/exchange.ts";

const HI = [{ role: "user", content: "hi" }];
const CHAT = { model: "g", messages: HI };
const MESSAGES = { model: "g", max_tokens: 10, messages: HI };

const AE = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const START = AE("message_start", {
  message: {
    id: "msg_1",
    model: "claude",
    usage: { input_tokens: 5, cache_read_input_tokens: 2, output_tokens: 1 },
  },
});
const block = (index: number, content_block: object): string =>
  AE("content_block_start", { index, content_block });
const delta = (index: number, fields: object): string => AE("content_block_delta", { index, delta: fields });
const input = (index: number, partial_json: string): string =>
  delta(index, { type: "input_json_delta", partial_json });
const stop = (index: number): string => AE("content_block_stop", { index });
const END = AE("message_delta", { delta: { stop_reason: "tool_use" }, usage: { output_tokens: 21 } });
const STOP = AE("message_stop");
const tool = (id: string, name: string): object => ({ type: "tool_use", id, name, input: {} });

const CH = (fields: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "up", choices: [{ index: 0, delta: fields, finish_reason: finish }] })}\n\n`;
const DONE = "data: [DONE]\n\n";
const call = (index: number, fields: object): object => ({ tool_calls: [{ index, ...fields }] });

const toChat = (pieces: readonly string[], more: object = {}): StreamRun =>
  runStream(planOf("chat", "anthropic", { ...CHAT, stream: true, ...more }), pieces);
const toMessages = (pieces: readonly string[]): StreamRun =>
  runStream(planOf("messages", "openai_compatible", { ...MESSAGES, stream: true }), pieces);

interface Delta {
  readonly content?: string;
  readonly refusal?: string;
  readonly tool_calls?: readonly {
    index: number;
    id?: string;
    function: { name?: string; arguments: string };
  }[];
}

function chatDeltas(text: string): { readonly delta: Delta; readonly finish_reason: string | null }[] {
  return eventsOf(text).flatMap(
    (chunk) => chunk["choices"] as { delta: Delta; finish_reason: string | null }[],
  );
}

function joinedCalls(
  text: string,
): { id: string | undefined; name: string | undefined; arguments: string }[] {
  const calls: { id: string | undefined; name: string | undefined; arguments: string }[] = [];
  for (const piece of chatDeltas(text).flatMap(({ delta: { tool_calls = [] } }) => tool_calls)) {
    calls[piece.index] ??= { id: piece.id, name: piece.function.name, arguments: "" };
    (calls[piece.index] as { arguments: string }).arguments += piece.function.arguments;
  }
  return calls;
}

describe("Anthropic's stream for a chat caller", () => {
  const parallel = [
    START,
    block(0, { type: "text", text: "" }),
    delta(0, { type: "text_delta", text: "Two lookups." }),
    stop(0),
    block(1, tool("toolu_1", "a")),
    input(1, '{"x":'),
    input(1, "1}"),
    stop(1),
    block(2, tool("toolu_2", "b")),
    input(2, '{"y":"'),
    input(2, 'é"}'),
    stop(2),
    END,
    STOP,
  ];

  it("BH-19: parallel calls keep an index of their own, counted from 0", () => {
    const { text, verdict, usage } = toChat(parallel);
    expect(verdict).toBe("complete");
    expect(joinedCalls(text)).toStrictEqual([
      { id: "toolu_1", name: "a", arguments: '{"x":1}' },
      { id: "toolu_2", name: "b", arguments: '{"y":"é"}' },
    ]);
    const reasons = chatDeltas(text).flatMap(({ finish_reason: reason }) => reason ?? []);
    expect(reasons).toStrictEqual(["tool_calls"]);
    expect(text.match(/"role"/gu)).toHaveLength(1);
    expect(text.endsWith(DONE)).toBe(true);
    expect(usage).toMatchObject({ input: 7, cached: 2, output: 21, total: 28 });
  });

  it("BH-19: the same answer at once gives an equal message", () => {
    const body = {
      id: "msg_1",
      type: "message",
      content: [
        { type: "text", text: "Two lookups." },
        { ...tool("toolu_1", "a"), input: { x: 1 } },
        { ...tool("toolu_2", "b"), input: { y: "é" } },
      ],
      stop_reason: "tool_use",
      usage: { input_tokens: 5, output_tokens: 21 },
    };
    expect(answered(planOf("chat", "anthropic", CHAT), body)["choices"]).toMatchObject([
      {
        finish_reason: "tool_calls",
        message: {
          content: "Two lookups.",
          tool_calls: [
            { id: "toolu_1", function: { name: "a", arguments: '{"x":1}' } },
            { id: "toolu_2", function: { name: "b", arguments: '{"y":"é"}' } },
          ],
        },
      },
    ]);
  });

  it("BH-20: a call without arguments gets an empty object", () => {
    const { text } = toChat([START, block(0, tool("toolu_9", "snooze")), input(0, ""), stop(0), END, STOP]);
    expect(joinedCalls(text)).toStrictEqual([{ id: "toolu_9", name: "snooze", arguments: "{}" }]);
  });

  it("BH-28: digits of 19-digit integers survive, at once and in pieces", () => {
    const { text } = toChat([
      START,
      block(0, tool("t", "f")),
      input(0, '{"id":90071992'),
      input(0, '54740993,"f":1.10}'),
      stop(0),
      END,
      STOP,
    ]);
    expect(joinedCalls(text)[0]?.arguments).toBe('{"id":9007199254740993,"f":1.10}');
    const whole =
      '{"type":"message","content":[{"type":"tool_use","id":"t","name":"f","input":{"id":9007199254740993,"f":1.10}}],"stop_reason":"tool_use"}';
    const choices = answered(planOf("chat", "anthropic", CHAT), whole)["choices"] as { message: unknown }[];
    expect(choices[0]?.message).toMatchObject({
      tool_calls: [{ function: { arguments: '{"id":9007199254740993,"f":1.10}' } }],
    });
  });

  it("P4: the usage chunk comes only to who asked for it", () => {
    expect(toChat(parallel).text).not.toContain('"usage"');
    const asked = toChat(parallel, { stream_options: { include_usage: true } }).text;
    expect(eventsOf(asked).at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 7, completion_tokens: 21 },
    });
  });

  it.each([
    ["first", [AE("error", { error: { type: "overloaded_error", message: "Overloaded" } })], false],
    [
      "after message_start and ping",
      [START, AE("ping"), AE("error", { error: { type: "overloaded_error" } })],
      false,
    ],
    ["after text", [START, delta(0, { type: "text_delta", text: "x" }), AE("error", { error: {} })], true],
  ] as const)("BH-05, E6: an error %s is the stream's failure", (_, pieces, committed) => {
    const run = toChat(pieces);
    expect(run).toMatchObject({ verdict: "cut", committed });
    expect(run.failure).toContain('"type":"error"');
    expect(run.text).not.toContain("error");
    expect(run.text).not.toContain("[DONE]");
  });

  it("BH-16: a stream cut before message_stop gets no end, not even after its stop reason", () => {
    for (const pieces of [
      [START, delta(0, { type: "text_delta", text: "Half" })],
      [START, END],
    ]) {
      const { verdict, text, committed } = toChat(pieces);
      expect({ verdict, committed, isEnded: text.includes("[DONE]") }).toStrictEqual({
        verdict: "cut",
        committed: true,
        isEnded: false,
      });
    }
    expect(toChat([])).toMatchObject({ verdict: "empty", committed: false });
    expect(toChat([START, STOP])).toMatchObject({ verdict: "empty", committed: false });
  });

  it("P2: signed and redacted thinking goes out so that it can come back", () => {
    const { text } = toChat([
      START,
      block(0, { type: "thinking", thinking: "", signature: "" }),
      delta(0, { type: "thinking_delta", thinking: "hm" }),
      delta(0, { type: "signature_delta", signature: "c2ln" }),
      stop(0),
      block(1, { type: "redacted_thinking", data: "eA==" }),
      stop(1),
      delta(2, { type: "text_delta", text: "4" }),
      END,
      STOP,
    ]);
    const details = eventsOf(text).flatMap((chunk) => {
      const [choice] = chunk["choices"] as { delta: { reasoning_details?: object[] } }[];
      return choice?.delta.reasoning_details ?? [];
    });
    const back = planOf("chat", "anthropic", {
      ...CHAT,
      messages: [...HI, { role: "assistant", content: "4", reasoning_details: details }, ...HI],
    });
    expect(JSON.parse(new TextDecoder().decode(joined(back.request.body)))).toMatchObject({
      messages: [
        {},
        {
          content: [
            { type: "thinking", thinking: "hm", signature: "c2ln" },
            { type: "redacted_thinking", data: "eA==" },
            { type: "text", text: "4" },
          ],
        },
        {},
      ],
    });
  });
});

describe("a chat stream for a messages caller", () => {
  it("P2, P4: text comes in Anthropic's grammar, usage at its end", () => {
    const usage = { prompt_tokens: 9, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 4 } };
    const { text, verdict } = toMessages([
      CH({ role: "assistant", content: "" }),
      CH({ content: "a" }),
      CH({ content: "b" }),
      CH({}, "stop"),
      `data: ${JSON.stringify({ choices: [], usage })}\n\n`,
      DONE,
    ]);
    expect(verdict).toBe("complete");
    expect(text.match(/^event: .*$/gmu)?.map((line) => line.slice(7))).toStrictEqual([
      "message_start",
      "ping",
      "content_block_start",
      "content_block_delta",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ]);
    expect(eventsOf(text).at(-2)).toStrictEqual({
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: {
        input_tokens: 5,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 4,
        output_tokens: 3,
      },
    });
  });

  it("BH-19: calls that grow side by side come one after the other", () => {
    const { text } = toMessages([
      CH(call(0, { id: "c0", function: { name: "a", arguments: "" } })),
      CH(call(1, { id: "c1", function: { name: "b", arguments: '{"y"' } })),
      CH(call(0, { function: { arguments: '{"x":"}"' } })),
      CH(call(1, { function: { arguments: ":2}" } })),
      CH(call(0, { function: { arguments: "}" } })),
      CH({}, "tool_calls"),
      DONE,
    ]);
    const inputs = ["", ""];
    const order: unknown[] = [];
    for (const event of eventsOf(text)) {
      if (event["type"] === "content_block_delta") {
        inputs[event["index"] as number] += (event["delta"] as { partial_json: string }).partial_json;
      }
      if (/content_block_st/u.test(event["type"] as string)) order.push([event["type"], event["index"]]);
    }
    expect(inputs).toStrictEqual(['{"x":"}"}', '{"y":2}']);
    expect(order).toStrictEqual([
      ["content_block_start", 0],
      ["content_block_stop", 0],
      ["content_block_start", 1],
      ["content_block_stop", 1],
    ]);
  });

  it("BH-16: a cut stream gets no message_stop and no end_turn", () => {
    const { text, verdict } = toMessages([CH({ content: "Half an ans" })]);
    expect(verdict).toBe("cut");
    expect(text).not.toMatch(/message_stop|end_turn/u);
  });

  it("BH-27: content_filter and a refusal are a refusal, not end_turn", () => {
    const reasonOf = (pieces: readonly string[]): unknown =>
      eventsOf(toMessages(pieces).text).at(-2)?.["delta"];
    const refused = { stop_reason: "refusal", stop_sequence: null };
    expect(reasonOf([CH({ content: "x" }, "content_filter"), DONE])).toStrictEqual(refused);
    expect(reasonOf([CH({ refusal: "no" }), CH({}, "stop"), DONE])).toStrictEqual(refused);
  });

  it("P2: reasoning is thinking; a new call without an index is a call of its own", () => {
    const { text } = toMessages([
      CH({ reasoning_content: "hm" }),
      CH({ content: "x" }),
      CH({ tool_calls: [{ id: "c0", function: { name: "a", arguments: "{}" } }] }),
      CH({ tool_calls: [{ id: "c1", function: { name: "a", arguments: {} } }] }),
      CH({}, "stop"),
      DONE,
    ]);
    const starts = eventsOf(text).filter(({ type }) => type === "content_block_start");
    expect(starts.map((event) => (event["content_block"] as { type: string }).type)).toStrictEqual([
      "thinking",
      "text",
      "tool_use",
      "tool_use",
    ]);
    expect(eventsOf(text).at(-2)).toMatchObject({ delta: { stop_reason: "tool_use" } });
  });

  it("E6: comments, role-only and usage-only chunks do not commit, and keep the caller waiting with pings", () => {
    const run = toMessages([": OPENROUTER PROCESSING\n\n", CH({ role: "assistant", content: "" })]);
    expect(run).toMatchObject({ committed: false, verdict: "cut" });
    expect(run.text).toContain("event: ping");
  });

  it("BH-13: an emoji in two events stays an emoji", () => {
    const { text } = toMessages([
      CH({ content: "X" }).replace("X", "\\ud83c"),
      CH({ content: "X" }).replace("X", "\\udf0d"),
      CH({}, "stop"),
      DONE,
    ]);
    const words = eventsOf(text)
      .map((event) => (event["delta"] as { text?: string } | undefined)?.text ?? "")
      .join("");
    expect(words).toBe("🌍");
  });

  it("P2: an answer at once whose arguments are no object is no answer", () => {
    const plan = planOf("messages", "openai", MESSAGES);
    const body = (args: string): Uint8Array =>
      new TextEncoder().encode(
        JSON.stringify({
          choices: [{ message: { tool_calls: [{ id: "c", function: { name: "f", arguments: args } }] } }],
        }),
      );
    expect(plan.readAnswer(body("[1"))).toMatchObject({ kind: "invalid" });
    expect(plan.readAnswer(body(" "))).toMatchObject({ kind: "usable" });
  });
});

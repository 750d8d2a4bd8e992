import { describe, expect, it } from "vitest";
import { bytesOf, textOf } from "../support/bytes.ts";
import { answered, eventsOf, planOf, runStream, type StreamRun } from "../support/exchange.ts";

const HI = [{ role: "user", content: "hi" }];
const MESSAGES = { model: "g", max_tokens: 10, messages: HI };
const DONE = "data: [DONE]\n\n";

const data = (fields: object): string => `data: ${JSON.stringify(fields)}\n\n`;
const chunk = (delta: object, more: object = {}): string =>
  data({
    id: "chatcmpl-A1",
    model: "up",
    choices: [{ index: 0, delta, finish_reason: null, ...more }],
  });
const calls = (...list: object[]): object => ({ tool_calls: list });

const toMessages = (pieces: readonly string[]): StreamRun =>
  runStream(planOf("messages", "azure_openai", { ...MESSAGES, stream: true }, AZURE), pieces);
const AZURE = { account: { baseUrl: "https://r.openai.azure.com" } };

/** The blocks that a stream begins. */
const blocksOf = ({ text }: StreamRun): unknown[] =>
  eventsOf(text).flatMap((event) => event["content_block"] ?? []);

describe("a chat completion's calls for a messages caller", () => {
  it.each([
    ["the bound on tokens", "length", "max_tokens"],
    ["a filter", "content_filter", "refusal"],
  ])("P2: arguments that %s cut off keep what is whole", (_what, finish_reason, stop_reason) => {
    const call = {
      id: "t1",
      type: "function",
      function: { name: "f", arguments: '{"id": 9007199254740993, "c' },
    };
    const plan = planOf("messages", "openai", MESSAGES);
    const body = JSON.stringify({ choices: [{ finish_reason, message: { tool_calls: [call] } }] });
    const reading = plan.readAnswer(bytesOf(body));
    const text = reading.kind === "usable" ? textOf(reading.body) : "";
    expect(text).toContain(`"stop_reason":"${stop_reason}"`);
    expect(text).toContain('"input":{"id":9007199254740993}');
  });

  it("P2: a call without an id gets one that no other answer's call has", () => {
    const run = toMessages([
      chunk(calls({ index: 0, function: { name: "a", arguments: "{}" } })),
      chunk(calls({ index: 1, function: { name: "b", arguments: "{}" } }), { finish_reason: "tool_calls" }),
      DONE,
    ]);
    expect(blocksOf(run)).toStrictEqual([
      { type: "tool_use", id: "call_chatcmplA1_0", name: "a", input: {} },
      { type: "tool_use", id: "call_chatcmplA1_1", name: "b", input: {} },
    ]);
    const body = {
      choices: [
        { finish_reason: "tool_calls", message: calls({ function: { name: "a", arguments: "{}" } }) },
      ],
    };
    expect(answered(planOf("messages", "openai", MESSAGES), body)).toMatchObject({
      content: [{ id: "call_req1_0" }],
    });
  });

  it("P2: a name that comes after its id is the call's", () => {
    const run = toMessages([
      chunk(calls({ index: 0, id: "c0", type: "function" })),
      chunk(calls({ index: 0, function: { arguments: '{"x":' } })),
      chunk(calls({ index: 0, function: { name: "a", arguments: "1" } })),
      chunk(calls({ index: 0, function: { name: "", arguments: "}" } }), { finish_reason: "tool_calls" }),
      DONE,
    ]);
    expect(blocksOf(run)).toStrictEqual([{ type: "tool_use", id: "c0", name: "a", input: {} }]);
    const json = eventsOf(run.text).map(
      (event) => (event["delta"] as { partial_json?: string } | undefined)?.partial_json ?? "",
    );
    expect(json.join("")).toBe('{"x":1}');
  });
});

describe("Azure's content filter for a messages caller", () => {
  const safe = { hate: { filtered: false, severity: "safe" } };
  const high = { hate: { filtered: true, severity: "high" } };
  const jailbreak = [
    { prompt_index: 0, content_filter_results: { jailbreak: { detected: true, filtered: false } } },
  ];

  it("P2: what it found stands in provider_specific, once; that it found nothing is left out", () => {
    const body = {
      choices: [{ finish_reason: "content_filter", index: 0, content_filter_results: high }],
      prompt_filter_results: [{ prompt_index: 0, content_filter_results: safe }],
    };
    expect(answered(planOf("messages", "azure_openai", MESSAGES, AZURE), body)).toMatchObject({
      content: [],
      stop_reason: "refusal",
      provider_specific: [{ content_filter_results: high }],
    });
    const run = toMessages([
      chunk({ content: "a" }, { content_filter_results: safe }),
      chunk({ content: "b" }, { content_filter_results: high }),
      chunk({}, { content_filter_results: high, finish_reason: "content_filter" }),
      DONE,
    ]);
    expect(eventsOf(run.text).at(-2)).toMatchObject({
      delta: { stop_reason: "refusal" },
      provider_specific: [{ content_filter_results: high }],
    });
    expect(run.text.match(/"severity":"high"/gu)).toHaveLength(1);
  });

  it("E6, P2: what it found in the prompt commits nothing, and is told at the end", () => {
    const first = data({ id: "", model: "", choices: [], prompt_filter_results: jailbreak });
    const role = chunk({ role: "assistant", content: "" });
    expect(toMessages([first, role])).toMatchObject({ committed: false, verdict: "cut" });
    expect(toMessages([first, role, DONE])).toMatchObject({ committed: false });
    const run = toMessages([
      first,
      role,
      chunk({ content: "no" }),
      chunk({}, { finish_reason: "stop" }),
      DONE,
    ]);
    expect(eventsOf(run.text).at(-2)).toMatchObject({
      delta: { stop_reason: "end_turn" },
      provider_specific: [{ prompt_filter_results: jailbreak }],
    });
  });
});

describe("BH-32, P2: chat's citations for a responses caller", () => {
  const RESPONSES = { model: "g", input: "hi" };
  const page = { url: "https://a.example/", title: "A", start_index: 0, end_index: 2 };
  const cited = { type: "url_citation", url_citation: page };
  const wanted = { type: "url_citation", ...page };
  const odd = { type: "place", at: 1 };

  it("stand with the text, as this API has them; what it has no word for beside the output", () => {
    const choice = { finish_reason: "stop", message: { content: "It is.", annotations: [cited, odd] } };
    const body = answered(planOf("responses", "openai_compatible", RESPONSES), { choices: [choice] });
    expect(body["output"]).toMatchObject([{ content: [{ text: "It is.", annotations: [wanted] }] }]);
    expect(body["provider_specific"]).toStrictEqual([{ annotations: [odd] }]);
  });

  it("come in a stream as they were told, and in its final object", () => {
    const plan = planOf("responses", "openai_compatible", { ...RESPONSES, stream: true });
    const { text } = runStream(plan, [
      chunk({ annotations: [cited] }),
      chunk({ content: "It is." }),
      chunk({ annotations: [cited] }),
      chunk({}, { finish_reason: "stop" }),
      DONE,
    ]);
    const events = eventsOf(text);
    expect(events.filter(({ type }) => type === "response.output_text.annotation.added")).toStrictEqual([
      {
        type: "response.output_text.annotation.added",
        sequence_number: 5,
        item_id: "msg_1_0",
        output_index: 0,
        content_index: 0,
        annotation_index: 0,
        annotation: wanted,
      },
    ]);
    expect(events.at(-1)).toMatchObject({
      response: {
        output: [{ content: [{ text: "It is.", annotations: [wanted] }] }],
        provider_specific: [{ annotations: [cited] }],
      },
    });
  });
});

describe("BH-32: chat's calls for a responses caller", () => {
  const itemEvents = (pieces: readonly string[]): unknown[] => {
    const plan = planOf("responses", "openai_compatible", { model: "g", input: "hi", stream: true });
    return eventsOf(runStream(plan, pieces).text).flatMap(({ type, output_index }) =>
      /output_item/u.test(type as string) ? [[(type as string).slice(21), output_index]] : [],
    );
  };
  const end = [chunk({}, { finish_reason: "tool_calls" }), DONE];

  it("a call that is whole ends before the next begins", () => {
    const pieces = [
      chunk(calls({ index: 0, id: "c0", function: { name: "a", arguments: '{"x":' } })),
      chunk(calls({ index: 0, function: { arguments: "1}" } })),
      chunk(calls({ index: 1, id: "c1", function: { name: "b", arguments: "{}" } })),
    ];
    expect(itemEvents([...pieces, ...end])).toStrictEqual([
      ["added", 0],
      ["done", 0],
      ["added", 1],
      ["done", 1],
    ]);
  });

  it("calls that grow side by side end together", () => {
    const pieces = [
      chunk(calls({ index: 0, id: "c0", function: { name: "a", arguments: '{"x":' } })),
      chunk(calls({ index: 1, id: "c1", function: { name: "b", arguments: '{"y":' } })),
      chunk(calls({ index: 0, function: { arguments: "1}" } })),
      chunk(calls({ index: 1, function: { arguments: "2}" } })),
    ];
    expect(itemEvents([...pieces, ...end])).toStrictEqual([
      ["added", 0],
      ["added", 1],
      ["done", 0],
      ["done", 1],
    ]);
  });
});

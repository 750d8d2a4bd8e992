import { describe, expect, it } from "vitest";
import { textOf } from "../support/bytes.ts";
import { answered, eventsOf, planOf, runStream, sent } from "../support/exchange.ts";

const HI = { role: "user", content: "hi" };
const G = (json: object): string => `data: ${JSON.stringify(json)}\r\n\r\n`;
const candidate = (parts: object[], more: object = {}): object => ({
  candidates: [{ index: 0, content: { role: "model", parts }, ...more }],
});
const STOP = { finishReason: "STOP" };

interface Call {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
  readonly extra_content?: unknown;
}

/** The calls that a chat stream tells, put together as clients do. */
function streamedCalls(text: string): Call[] {
  const calls: { id: string; function: { name: string; arguments: string } }[] = [];
  for (const event of eventsOf(text)) {
    const [choice] = event["choices"] as { delta: { tool_calls?: (Call & { index: number })[] } }[];
    for (const { index, ...delta } of choice?.delta.tool_calls ?? []) {
      const call = calls[index];
      if (call === undefined) calls[index] = structuredClone(delta) as Call;
      else call.function.arguments += delta.function.arguments;
    }
  }
  return calls;
}

describe("answers", () => {
  const ask = { model: "g", max_tokens: 9, messages: [HI] };
  const open = { ...ask, stream: true, stream_options: { include_usage: true } };
  const LATE = [
    G(candidate([{ functionCall: { name: "f", args: { c: "Oslo" } } }])),
    G({
      ...candidate([{ text: "" }], STOP),
      usageMetadata: {
        promptTokenCount: 10,
        candidatesTokenCount: 4,
        thoughtsTokenCount: 6,
        totalTokenCount: 20,
      },
    }),
  ];

  it.each(["messages", "responses", "chat"] as const)(
    "P2: the only answer is told to %s, whatever its number",
    (to) => {
      const only = {
        candidates: [{ index: 1, content: { role: "model", parts: [{ text: "hey" }] }, ...STOP }],
      };
      const body = to === "responses" ? { model: "g", input: "hi" } : ask;
      const whole = answered(planOf(to, "gemini", body), only);
      expect(JSON.stringify(whole)).toContain('"hey"');
      if (to === "chat") expect(whole["choices"]).toMatchObject([{ index: 1, message: { content: "hey" } }]);
      expect(runStream(planOf(to, "gemini", { ...body, stream: true }), [G(only)]).text).toContain('"hey"');
    },
  );

  it("BH-22: a STOP that comes after the call is the call's", () => {
    const { text, usage, verdict } = runStream(planOf("chat", "gemini", open), LATE);
    expect(verdict).toBe("complete");
    expect(streamedCalls(text)).toMatchObject([{ function: { name: "f", arguments: '{"c":"Oslo"}' } }]);
    expect(text.match(/"finish_reason":"tool_calls"/gu)).toHaveLength(1);
    expect(text.match(/"role"/gu)).toHaveLength(1);
    expect(text).toContain('"completion_tokens":10');
    expect(usage).toMatchObject({ output: 10, reasoning: 6 });
    expect(runStream(planOf("messages", "gemini", { ...ask, stream: true }), LATE).text).toContain(
      '"stop_reason":"tool_use"',
    );
  });

  it("BH-13, BH-14: the events are the same wherever the bytes are cut, each as soon as it is there", () => {
    const bytes = new TextEncoder().encode(G(candidate([{ text: "你好 🌍" }])) + G(candidate([], STOP)));
    const pieces = [...bytes].map((byte) => Uint8Array.of(byte));
    const { text } = runStream(planOf("chat", "gemini", open), pieces);
    expect(text).toBe(runStream(planOf("chat", "gemini", open), [bytes]).text);
    expect(text).toContain("你好 🌍");
    const reader = planOf("chat", "gemini", open).openStream();
    const out: Uint8Array[] = [];
    reader.push(new TextEncoder().encode(G(candidate([{ text: "a" }]))), out);
    expect(out.map(textOf).join("")).toContain('"content":"a"');
  });

  it("BH-16: without a reason to stop it is cut", () => {
    const run = runStream(planOf("chat", "gemini", open), [G(candidate([{ text: "Half" }]))]);
    expect(run.verdict).toBe("cut");
    expect(run.text).not.toMatch(/"stop"|DONE/u);
    const failed = G(candidate([], { finishReason: "MALFORMED_FUNCTION_CALL" }));
    expect(runStream(planOf("chat", "gemini", open), [failed]).verdict).toBe("cut");
    const reading = planOf("chat", "gemini", ask).readAnswer(new TextEncoder().encode(failed.slice(6)));
    expect(reading.kind).toBe("invalid");
  });

  it("BH-27: candidates are told apart, each with its own calls and logprobs", () => {
    const choice = (index: number, more: object): string => G({ candidates: [{ index, ...more }] });
    const said = (text: string): object => ({ content: { parts: [{ text }] } });
    const logprobsResult = {
      chosenCandidates: [{ token: "B", logProbability: -0.25 }],
      topCandidates: [{ candidates: [{ token: "C", logProbability: -2 }] }],
    };
    const { text } = runStream(planOf("chat", "gemini", { ...open, n: 2, logprobs: true }), [
      choice(1, { ...said("B"), logprobsResult }),
      choice(0, { content: { parts: [{ functionCall: { name: "f" } }] } }),
      choice(1, { finishReason: "SAFETY", finishMessage: "no" }),
      choice(0, STOP),
    ]);
    const ends = eventsOf(text).flatMap(
      (event) => event["choices"] as { index: number; finish_reason: string }[],
    );
    expect(
      ends
        .filter(({ finish_reason }) => finish_reason !== null)
        .map(({ index, finish_reason }) => [index, finish_reason]),
    ).toStrictEqual([
      [1, "content_filter"],
      [0, "tool_calls"],
    ]);
    expect(text).toContain(
      '"logprobs":{"content":[{"token":"B","logprob":-0.25,"bytes":[66],"top_logprobs":[{"token":"C","logprob":-2,"bytes":[67]}]}],"refusal":null}',
    );
    expect(text).toContain('"refusal":"no"');
  });

  it("a call in pieces is put together, whatever its places are called", () => {
    const piece = (functionCall: object): string => G(candidate([{ functionCall }]));
    const arg = (jsonPath: string, value: object): string =>
      piece({ partialArgs: [{ jsonPath, ...value }], willContinue: true });
    const { text } = runStream(planOf("chat", "gemini", open), [
      piece({ name: "f", willContinue: true }),
      arg("$.a.b[0]", { stringValue: "x" }),
      arg("$.a.b[0]", { stringValue: "y" }),
      `data: {"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$['n m']","numberValue":9007199254740993}],"willContinue":true}}]}}]}\n\n`,
      arg("$.__proto__.z", { boolValue: true }),
      arg("$.a.b[4000000000]", { stringValue: "far" }),
      arg("$.gone", { nullValue: "NULL_VALUE" }),
      piece({}),
      G(candidate([], STOP)),
    ]);
    expect(streamedCalls(text)[0]?.function.arguments).toBe(
      '{"a":{"b":["xy"]},"n m":9007199254740993,"__proto__":{"z":true},"gone":null}',
    );
    expect({}).not.toHaveProperty("z");
  });
});

describe("P2: what was held back", () => {
  const ask = { model: "g", max_tokens: 9, messages: [HI] };
  const safetyRatings = [{ category: "HARM_CATEGORY_HATE_SPEECH", probability: "HIGH" }];
  const promptFeedback = { blockReason: "SAFETY", blockReasonMessage: "Reasons", safetyRatings };

  it("a blocked prompt says why, in each dialect's own place", () => {
    const body = { promptFeedback };
    expect(answered(planOf("chat", "gemini", ask), body)["choices"]).toMatchObject([
      {
        message: { content: null, refusal: "Reasons", provider_specific: [{ promptFeedback }] },
        finish_reason: "content_filter",
        native_finish_reason: "SAFETY",
      },
    ]);
    expect(answered(planOf("messages", "gemini", ask), body)).toMatchObject({
      content: [],
      stop_reason: "refusal",
      stop_details: { type: "refusal", category: null, explanation: "Reasons" },
      provider_specific: [{ promptFeedback }],
    });
    const streamed = runStream(planOf("messages", "gemini", { ...ask, stream: true }), [G(body)]);
    expect(eventsOf(streamed.text).find(({ type }) => type === "message_delta")).toMatchObject({
      delta: {
        stop_reason: "refusal",
        stop_details: { type: "refusal", category: null, explanation: "Reasons" },
      },
      provider_specific: [{ promptFeedback }],
    });
  });

  it("a recitation is told from harm where the dialect has one word for both", () => {
    const body = candidate([{ text: "Once" }], { finishReason: "RECITATION", safetyRatings });
    const said = answered(planOf("messages", "gemini", ask), body);
    expect(said).toMatchObject({
      content: [{ type: "text", text: "Once" }],
      stop_reason: "refusal",
      provider_specific: [{ finishReason: "RECITATION", safetyRatings }],
    });
    expect(said).not.toHaveProperty("stop_details");
    const fine = answered(planOf("messages", "gemini", ask), candidate([{ text: "a" }], STOP));
    expect(fine).not.toHaveProperty("provider_specific");
  });
});

it("P2: a picture among the thoughts goes on as it is", () => {
  const thought = { thought: true, inlineData: { mimeType: "image/png", data: "AA==" } };
  const said = answered(
    planOf("messages", "gemini", { model: "g", max_tokens: 9, messages: [HI] }),
    candidate([{ thought: true, text: "hm" }, thought, { text: "done" }], STOP),
  );
  expect(said).toMatchObject({
    content: [
      { type: "thinking", thinking: "hm" },
      { type: "text", text: "done" },
    ],
    provider_specific: [thought],
  });
});

it("P2: log probabilities of a call stay, without text of their own", () => {
  const ask = { model: "g", logprobs: true, messages: [HI] };
  const body = candidate([{ functionCall: { name: "f" } }], {
    ...STOP,
    logprobsResult: { chosenCandidates: [{ token: "f", logProbability: -0.5 }] },
  });
  const content = [{ token: "f", logprob: -0.5, bytes: [102], top_logprobs: [] }];
  expect(answered(planOf("chat", "gemini", ask), body)["choices"]).toMatchObject([
    { logprobs: { content }, finish_reason: "tool_calls" },
  ]);
  const { text } = runStream(planOf("chat", "gemini", { ...ask, stream: true }), [G(body)]);
  expect(eventsOf(text).flatMap((event) => event["choices"])).toContainEqual(
    expect.objectContaining({ delta: { content: "" }, logprobs: { content, refusal: null } }),
  );
});

it("P2: what only Google has comes in one list, since OpenAI's clients keep the last or refuse a second", () => {
  const executableCode = { language: "PYTHON", code: "print(1)" };
  const codeExecutionResult = { outcome: "OUTCOME_OK", output: "1" };
  const { text } = runStream(planOf("chat", "gemini", { model: "g", stream: true, messages: [HI] }), [
    G(candidate([{ executableCode }])),
    G(candidate([{ codeExecutionResult }, { text: "1" }])),
    G(candidate([], STOP)),
  ]);
  const choices = eventsOf(text).flatMap((event) => event["choices"] as { delta: object }[]);
  expect(choices.map(({ delta }) => delta)).toStrictEqual([
    { role: "assistant", content: "" },
    { content: "1" },
    { provider_specific: [{ executableCode }, { codeExecutionResult }] },
    {},
  ]);
});

it("P2: sources that a stream tells piece by piece all stay, those that grow are told once", () => {
  const cite = (uri: string): object => ({ citationMetadata: { citations: [{ uri }] } });
  const sources = (pieces: readonly object[]): unknown =>
    eventsOf(
      runStream(planOf("chat", "gemini", { model: "g", stream: true, messages: [HI] }), [
        ...pieces.map((more) => G(candidate([{ text: "a" }], more))),
        G(candidate([], STOP)),
      ]).text,
    ).flatMap((event) =>
      (event["choices"] as { delta: { provider_specific?: unknown[] } }[]).flatMap(
        ({ delta }) => delta.provider_specific ?? [],
      ),
    );
  expect(sources([cite("a"), cite("b")])).toStrictEqual([cite("a"), cite("b")]);
  const queries = (...webSearchQueries: string[]): object => ({ groundingMetadata: { webSearchQueries } });
  expect(sources([queries("q"), queries("q", "r"), cite("a")])).toStrictEqual([
    { ...queries("q", "r"), ...cite("a") },
  ]);
});

describe("BH-26: signatures", () => {
  const first = { functionCall: { name: "f", args: { i: 1 } } };
  const second = { functionCall: { name: "f", args: { i: 2 } } };
  const parts = [{ ...first, thoughtSignature: "U0lHLUE=" }, second];
  const body = candidate(parts, STOP);
  const ask = { model: "g", max_tokens: 9, messages: [HI] };

  const turnTwo = (messages: object[], endpoint: "chat" | "messages" = "chat"): unknown =>
    (sent(planOf(endpoint, "gemini", { ...ask, messages })).json["contents"] as unknown[])[1];
  const results = (calls: readonly Call[]): object[] =>
    calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "r" }));

  it("a chat caller that echoes the message gives the signature back, streamed or not", () => {
    const [choice] = answered(planOf("chat", "gemini", ask), body)["choices"] as {
      message: { tool_calls: Call[] };
    }[];
    const message = choice?.message as { tool_calls: Call[] };
    expect(turnTwo([HI, message, ...results(message.tool_calls)])).toStrictEqual({ role: "model", parts });
    const calls = streamedCalls(
      runStream(planOf("chat", "gemini", { ...ask, stream: true }), [G(body)]).text,
    );
    expect(calls).toStrictEqual(message.tool_calls);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
  });

  it("a chat caller that echoes only standard fields gets the documented bypass, on the first call alone", () => {
    const calls = [1, 2].map((i) => ({
      id: `c${i}`,
      type: "function",
      function: { name: "f", arguments: `{"i":${i}}` },
    }));
    const message = { role: "assistant", content: null, tool_calls: calls };
    expect(turnTwo([HI, message, ...results(calls)])).toStrictEqual({
      role: "model",
      parts: [{ ...first, thoughtSignature: "skip_thought_signature_validator" }, second],
    });
  });

  it("a messages caller gives it back in the thinking before the call; Anthropic never gets it", () => {
    const { content } = answered(planOf("messages", "gemini", ask), body);
    const history = [
      HI,
      { role: "assistant", content },
      {
        role: "user",
        content: (content as { type: string; id: string }[])
          .filter(({ type }) => type === "tool_use")
          .map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "r" })),
      },
    ];
    expect(turnTwo(history, "messages")).toStrictEqual({ role: "model", parts });
    for (const [family, model] of [
      ["anthropic", "m"],
      ["vertex", "claude-5"],
    ] as const) {
      const { text } = sent(planOf("messages", family, { ...ask, messages: history }, { model }));
      expect(text).not.toMatch(/U0lHLUE|thinking/u);
      expect(text).toContain('"tool_use"');
    }
  });

  it("of a text goes back from clients that join the strings of deltas, the vendor's name with them", () => {
    const details = [
      { type: "reasoning.text", index: 0, format: "google-gemini-v1google-gemini-v1", signature: "U0lH" },
    ];
    expect(turnTwo([HI, { role: "assistant", content: "so", reasoning_details: details }, HI])).toStrictEqual(
      { role: "model", parts: [{ text: "so", thoughtSignature: "U0lH" }] },
    );
  });

  it("of a text goes back with it, Anthropic's stays away", () => {
    const { content } = answered(
      planOf("messages", "gemini", ask),
      candidate(
        [
          { text: "hm", thought: true },
          { text: "so", thoughtSignature: "U0lH" },
        ],
        STOP,
      ),
    );
    expect(turnTwo([HI, { role: "assistant", content }, HI], "messages")).toStrictEqual({
      role: "model",
      parts: [{ text: "so", thoughtSignature: "U0lH" }],
    });
    const anthropic = [
      { type: "thinking", thinking: "t", signature: "s" },
      { type: "text", text: "so" },
    ];
    expect(turnTwo([HI, { role: "assistant", content: anthropic }, HI], "messages")).toStrictEqual({
      role: "model",
      parts: [{ text: "so" }],
    });
  });
});

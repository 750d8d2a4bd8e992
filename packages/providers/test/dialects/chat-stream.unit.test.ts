import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StreamVerdict } from "../../src/dialects/dialect.ts";
import { type ChatStreamReader, createChatStreamReader } from "../../src/dialects/openai/chat-stream.ts";
import { bytesOf, concat, cutAt, cuts, textOf } from "../support/bytes.ts";
import { providerCases } from "../support/fixtures.ts";

const data = (json: object | string): string =>
  `data: ${typeof json === "string" ? json : JSON.stringify(json)}\n\n`;
const chunk = (fields: object): string =>
  data({ id: "c1", object: "chat.completion.chunk", created: 1700000000, model: "up-model", ...fields });
const CH = (delta: object, finish: string | null): string =>
  chunk({ choices: [{ index: 0, delta, finish_reason: finish }] });
const DONE = data("[DONE]");
const ROLE = CH({ role: "assistant", content: "" }, null);
const USAGE = { prompt_tokens: 4, completion_tokens: 1, total_tokens: 5 };

interface Run {
  readonly reader: ChatStreamReader;
  readonly text: string;
  readonly bytes: Uint8Array;
  readonly verdict: StreamVerdict;
}

function run(chunks: readonly Uint8Array[], stripUsage = false): Run {
  const reader = createChatStreamReader({ stripUsage });
  const out: Uint8Array[] = [];
  for (const piece of chunks) reader.push(piece, out);
  const verdict = reader.finish(out);
  const bytes = concat(out);
  return { reader, bytes, text: textOf(bytes), verdict };
}

const runText = (text: string, stripUsage = false): Run => run([bytesOf(text)], stripUsage);

/** Whether the stream is committed after each of these writes. */
function commits(writes: readonly string[]): boolean[] {
  const reader = createChatStreamReader({ stripUsage: false });
  return writes.map((write) => {
    reader.push(bytesOf(write), []);
    return reader.committed;
  });
}

const RECORDED = providerCases(["openai", "azure-openai"], "chat.completions").filter(
  ({ stream, status }) => stream && status === 200,
);

describe("recorded streams", () => {
  it("are there", () => {
    expect(RECORDED.length).toBeGreaterThanOrEqual(10);
  });

  it.each(RECORDED)("P1, P4: $name passes byte for byte, cut anywhere, and is complete", ({ body }) => {
    const whole = run([body]);
    expect(whole.verdict).toBe("complete");
    expect(whole.reader).toMatchObject({ committed: true, done: true, failure: undefined });
    fc.assert(
      fc.property(cuts, (places) => {
        const result = run(cutAt(body, places));
        expect(result.bytes).toStrictEqual(body);
        expect(result.verdict).toBe("complete");
        expect(result.reader.usage).toStrictEqual(whole.reader.usage);
        expect(result.reader.model).toBe(whole.reader.model);
      }),
      { numRuns: 25 },
    );
  });

  it.each(RECORDED)("BH-16: $name is cut when it ends before its finish reason", ({ body }) => {
    const text = textOf(body);
    const finish = text.search(/"finish_reason": ?"/u);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: bytesOf(text.slice(0, finish)).length }), (length) => {
        const result = run([body.slice(0, length)]);
        expect(result.verdict).toBe(result.text.includes("data:") ? "cut" : "empty");
        // Only whole events went on, so an error event can follow.
        expect(result.text.endsWith("\n\n") || result.text === "").toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it("P4: usage is told, and its chunk taken out for a caller who did not ask", () => {
    const recorded = RECORDED.find(({ name }) => name === "openai/chat-stream-usage-2");
    const text = textOf(recorded?.body ?? new Uint8Array(0));
    const events = text.split("\n\n");
    const expected = [...events.slice(0, 2), ...events.slice(3)].join("\n\n");
    const result = runText(text, true);
    expect(result.text).toBe(expected);
    expect(result.reader.usage).toStrictEqual({
      input: 12,
      output: 100,
      total: 112,
      cached: 0,
      reasoning: 100,
    });
    expect(result.reader.model).toBe("gpt-5-nano-2025-08-07");
  });
});

describe("what goes on", () => {
  it("events in a row go on as one piece", () => {
    const bytes = bytesOf(ROLE + CH({ content: "a" }, null).repeat(20) + CH({}, "stop") + DONE);
    const out: Uint8Array[] = [];
    createChatStreamReader({ stripUsage: true }).push(bytes, out);
    expect(out).toStrictEqual([bytes]);
    expect(out[0]).toBe(bytes);
  });

  it("BH-12: comments stay comments and are no token", () => {
    const text =
      ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n" +
      CH({ role: "assistant", content: "H" }, null) +
      ':\n\n: data: {"not":"data"}\n' +
      CH({ content: "i" }, null) +
      CH({}, "stop") +
      DONE;
    expect(runText(text)).toMatchObject({ text, verdict: "complete" });
    expect(commits([": OPENROUTER PROCESSING\n\n", ROLE, ":\n\n", CH({ content: "i" }, null)])).toStrictEqual(
      [false, false, false, true],
    );
  });

  it("BH-13: characters cut by chunk borders stay whole", () => {
    const bytes = bytesOf(CH({ content: "你好 🌍" }, null) + CH({}, "stop") + DONE);
    const result = run(cutAt(bytes, [...bytes.keys()]));
    expect(result.bytes).toStrictEqual(bytes);
  });

  it.each(["\r\n", "\n", "\r"])("BH-14: usage is read whatever ends the lines (%j)", (end) => {
    const text = (ROLE + CH({ content: "a" }, "stop") + chunk({ choices: [], usage: USAGE }) + DONE)
      .replaceAll("data: ", "data:")
      .replaceAll("\n", end);
    const result = runText(text);
    expect(result).toMatchObject({ text, verdict: "complete" });
    expect(result.reader.usage).toMatchObject({ input: 4, output: 1, total: 5 });
    expect(result.reader.model).toBe("up-model");
  });

  it.each([
    ["empty", { choices: [], usage: USAGE }],
    ["null", { choices: null, usage: USAGE }],
    ["missing", { usage: USAGE }],
  ])("BH-15: a usage chunk whose choices are %s comes out with an empty list", (_form, fields) => {
    const before = ROLE + CH({ content: "ok" }, null) + CH({}, "stop");
    const result = runText(before + chunk(fields) + DONE);
    const events = result.text.split("\n\n");
    expect(JSON.parse((events[3] ?? "").slice(6))).toStrictEqual({
      id: "c1",
      object: "chat.completion.chunk",
      created: 1700000000,
      model: "up-model",
      choices: [],
      usage: USAGE,
    });
    expect(result.text.startsWith(before)).toBe(true);
    expect(result.text.endsWith(DONE)).toBe(true);
    const stripped = runText(before + chunk(fields) + DONE, true);
    expect(stripped.text).toBe(before + DONE);
    expect(stripped.reader.usage).toMatchObject({ input: 4, output: 1, total: 5 });
  });

  it("BH-15: edits nothing else of the event, in whatever form it came", () => {
    expect(runText(': c\nid: 7\ndata: { "object" : "x", "choices" : null }\r\n\r\n').text).toBe(
      ': c\nid: 7\ndata: { "object" : "x", "choices" : [] }\r\n\r\n',
    );
    expect(runText('data: {"choices":\ndata: null,"id":"1"}\n\n').text).toBe(
      'data: {"choices": [],"id":"1"}\n\n',
    );
    for (const other of ['{"type":"ping"}', "{}", "[1]", "7", "not json", '{"choices":{"x":1}}']) {
      expect(runText(data(other)).text).toBe(data(other));
    }
  });

  it("BH-27: choices, logprobs, refusals and unknown fields stay as they came", () => {
    const text =
      chunk({
        choices: [{ index: 1, delta: { content: "B" }, logprobs: { content: [], refusal: null }, x: 1 }],
      }) +
      chunk({
        choices: [{ index: 1, delta: { refusal: "cannot" } }],
        service_tier: "default",
        new_field: {},
      }) +
      chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) +
      DONE;
    expect(runText(text).text).toBe(text);
  });

  it("P4: a missing final blank line is put there, half an event is not passed on", () => {
    const text = CH({ content: "a" }, "stop");
    expect(runText(`${text}data: [DONE]`)).toMatchObject({ text: text + DONE, verdict: "complete" });
    expect(runText(text.trimEnd())).toMatchObject({ text, verdict: "complete" });
    expect(runText(`${text}data: {"id":"c1","cho`)).toMatchObject({ text, verdict: "complete" });
  });
});

describe("E6: what commits", () => {
  it.each([
    ["a comment", ": ping\n\n"],
    ["a role", ROLE],
    ["an empty delta", CH({}, null)],
    ["null content", CH({ role: "assistant", content: null, refusal: null, tool_calls: [] }, null)],
    ["usage alone", chunk({ choices: [], usage: USAGE })],
    ["a prompt filter", chunk({ choices: [], prompt_filter_results: [{ prompt_index: 0 }] })],
    ["no finish reason", CH({ content: "" }, "")],
    ["[DONE]", DONE],
    ["data that is no JSON", data("hello")],
  ])("%s does not", (_what, write) => {
    expect(commits([write])).toStrictEqual([false]);
  });

  it.each([
    ["text", CH({ content: " " }, null)],
    ["reasoning", CH({ reasoning: "hm" }, null)],
    ["reasoning_content", CH({ role: "assistant", reasoning_content: "hm" }, null)],
    ["content parts", CH({ content: [{ type: "thinking", thinking: [] }] }, null)],
    ["a refusal", CH({ content: null, refusal: "no" }, null)],
    [
      "a tool call",
      CH({ tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: "" } }] }, null),
    ],
    ["a finish reason", CH({}, "length")],
    [
      "a later choice",
      chunk({
        choices: [
          { index: 0, delta: {} },
          { index: 1, delta: { content: "x" } },
        ],
      }),
    ],
    ["escaped keys", data('{"choices":[{"\\u0064elta":{"c\\u006fntent":"x"}}]}')],
  ])("%s does", (_what, write) => {
    expect(commits([ROLE, write])).toStrictEqual([false, true]);
  });
});

describe("errors inside a stream (BH-05)", () => {
  const error = { error: { message: "Overloaded", type: "overloaded_error" } };

  it.each([
    ["an error object", data(error), JSON.stringify(error)],
    ["an error event", `event: error\n${data("oops")}`, "oops"],
    ["an error text", data({ error: "busy" }), '{"error":"busy"}'],
    ["an object of kind error", data({ object: "error", message: "x" }), '{"object":"error","message":"x"}'],
  ])("%s ends what goes on", (_what, event, expected) => {
    const result = runText(ROLE + event + CH({ content: "late" }, "stop") + DONE);
    expect(result.text).toBe(ROLE);
    expect(textOf(result.reader.failure ?? new Uint8Array(0))).toBe(expected);
    expect(result.verdict).toBe("cut");
    expect(result.reader).toMatchObject({ committed: false, terminal: false });
  });

  it("an error beside a finish reason does not commit", () => {
    const event = chunk({
      error: { code: 502 },
      choices: [{ delta: { content: "" }, finish_reason: "error" }],
    });
    expect(runText(event).reader).toMatchObject({ committed: false, terminal: false });
  });

  it("a null or empty error is none", () => {
    for (const none of [null, "", {}, false]) {
      const text = chunk({ error: none, choices: [{ delta: { content: "a" }, finish_reason: "stop" }] });
      expect(runText(text)).toMatchObject({ text, verdict: "complete" });
    }
  });
});

describe("verdicts", () => {
  it.each([
    ["BH-16: a stream that ends in its text is cut", ROLE + CH({ content: "Half an ans" }, null), "cut"],
    ["BH-16: no byte at all is empty", "", "empty"],
    ["comments alone are empty", ": ping\n\n: ping\n\n", "empty"],
    ["E6: [DONE] alone is empty", DONE, "empty"],
    ["E6: a role and [DONE] are empty", ROLE + DONE, "empty"],
    ["BH-07: usage and [DONE] are empty", chunk({ choices: [], usage: USAGE }) + DONE, "empty"],
    ["a role alone is cut", ROLE, "cut"],
    ["a finish reason without [DONE] is complete", ROLE + CH({ content: "a" }, "stop"), "complete"],
    ["a finish reason alone is complete", CH({}, "length") + DONE, "complete"],
    ["[DONE] without a finish reason is complete", CH({ content: "a" }, null) + DONE, "complete"],
  ] as const)("%s", (_title, text, verdict) => {
    expect(runText(text).verdict).toBe(verdict);
  });

  it("reads usage where a provider puts it into the choice, and the last of many", () => {
    const choice = (usage: object): string =>
      chunk({ choices: [{ index: 0, delta: { content: "a" }, finish_reason: "stop", usage }] });
    expect(runText(choice(USAGE)).reader.usage).toMatchObject({ input: 4, output: 1 });
    const later = { ...USAGE, completion_tokens: 9, total_tokens: 13 };
    expect(runText(choice(USAGE) + choice(later)).reader.usage).toMatchObject({ output: 9 });
  });

  it("counts reasoning that a provider counts beside the completion", () => {
    const usage = {
      prompt_tokens: 12,
      completion_tokens: 2,
      total_tokens: 354,
      completion_tokens_details: { reasoning_tokens: 340 },
    };
    expect(runText(chunk({ choices: [], usage })).reader.usage).toStrictEqual({
      input: 12,
      output: 342,
      total: 354,
      cached: 0,
      reasoning: 340,
    });
  });
});

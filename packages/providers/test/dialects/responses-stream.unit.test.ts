import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readResponsesAnswer } from "../../src/dialects/responses/answer.ts";
import { ResponsesStreamReader } from "../../src/dialects/responses/responses-stream.ts";
import { dialectOf } from "../../src/dialects/index.ts";
import { bytesOf, concat, cutAt, cuts, textOf } from "../support/bytes.ts";
import { providerCases } from "../support/fixtures.ts";

const FAMILIES = ["openai", "azure-openai", "openrouter", "xai", "deepseek", "ollama-vllm"];
const CASES = providerCases(FAMILIES, "responses").filter(({ status }) => status === 200);
const STREAMS = CASES.filter(({ stream }) => stream);
const WHOLE = CASES.filter(({ stream }) => !stream);

function run(pieces: readonly Uint8Array[]) {
  const reader = new ResponsesStreamReader();
  const out: Uint8Array[] = [];
  for (const piece of pieces) reader.push(piece, out);
  const verdict = reader.finish(out);
  const { committed, terminal, model, usage, keeps, sequence } = reader;
  const failure = reader.failure && textOf(reader.failure);
  return { text: textOf(concat(out)), verdict, committed, terminal, model, usage, keeps, sequence, failure };
}

const event = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const of = (...events: string[]) => run([bytesOf(events.join(""))]);

const CREATED = event("response.created", {
  sequence_number: 0,
  response: {
    id: "resp_1",
    status: "in_progress",
    model: "m-1",
    output: [],
    error: null,
    conversation: { id: "conv_1" },
  },
});
const COMPLETED = event("response.completed", {
  sequence_number: 7,
  response: {
    id: "resp_1",
    status: "completed",
    model: "m-2",
    output: [],
    usage: {
      input_tokens: 11,
      output_tokens: 19,
      total_tokens: 30,
      output_tokens_details: { reasoning_tokens: 4 },
    },
  },
});

describe("recorded streams", () => {
  it.each(STREAMS)("P1, P4, BH-13: $name passes byte for byte, cut anywhere", ({ body }) => {
    const whole = run([body]);
    if (whole.failure === undefined) {
      expect(whole.text).toBe(textOf(body));
      expect(whole).toMatchObject({ verdict: "complete", committed: true, terminal: true });
      expect(whole.model).toBeTypeOf("string");
      expect(whole.usage?.total).toBeGreaterThan(0);
    }
    fc.assert(
      fc.property(cuts, (places) => {
        expect(run(cutAt(body, places))).toStrictEqual(whole);
      }),
      { numRuns: 8 },
    );
  });

  it("some of them are streams that failed after a 200", () => {
    const failed = STREAMS.filter(({ body }) => run([body]).failure !== undefined);
    expect(failed.map(({ name }) => name)).toContain("openai/responses-failed-stream");
  });
});

describe("what commits (E6)", () => {
  it.each([
    [event("response.in_progress", { response: {} })],
    [event("response.output_item.added", { item: { type: "message", content: [] } })],
    [event("response.output_item.added", { item: { type: "reasoning", summary: [] } })],
    [event("response.content_part.added", { part: { type: "output_text", text: "" } })],
    [event("response.output_text.delta", { delta: "" })],
    [event("response.web_search_call.in_progress", { item_id: "ws_1" })],
    [": ping\n\n"],
  ])("not %j", (said) => {
    const reader = new ResponsesStreamReader();
    reader.push(bytesOf(CREATED + said), []);
    expect(reader.committed).toBe(false);
  });

  it.each([
    [event("response.output_text.delta", { delta: "x" })],
    [event("response.refusal.delta", { delta: "x" })],
    [event("response.reasoning_text.delta", { delta: "x" })],
    [event("response.reasoning_summary_text.delta", { delta: "x" })],
    [event("response.function_call_arguments.delta", { delta: "{" })],
    [event("response.output_item.added", { item: { type: "function_call", name: "f" } })],
    [event("response.output_item.done", { item: { type: "reasoning" } })],
    [COMPLETED],
  ])("%j does", (said) => {
    const reader = new ResponsesStreamReader();
    reader.push(bytesOf(CREATED + said), []);
    expect(reader.committed).toBe(true);
  });

  it("reads model, usage, number and where it is kept from what the response says of itself", () => {
    expect(of(CREATED, COMPLETED)).toMatchObject({
      verdict: "complete",
      model: "m-2",
      usage: { input: 11, output: 19, total: 30, reasoning: 4 },
      keeps: ["resp_1"],
      sequence: 8,
    });
    expect(of(CREATED)).toMatchObject({ verdict: "cut", keeps: ["resp_1", "conv_1"], sequence: 1 });
  });

  it("its items are kept with it, by the ids that nobody else has (P8)", () => {
    const output = [
      { id: "rs_0123456789abcdef" },
      { id: "msg_1" },
      7,
      { id: 8 },
      { id: "msg_0123456789abcdef" },
    ];
    expect(of(event("response.completed", { response: { id: "resp_1", output } })).keeps).toEqual([
      "resp_1",
      "rs_0123456789abcdef",
      "msg_0123456789abcdef",
    ]);
    const many = Array.from({ length: 40 }, (_, place) => ({ id: `msg_0123456789abcdef_${place}` }));
    expect(of(event("response.completed", { response: { id: "r", output: many } })).keeps).toHaveLength(16);
  });

  it("a replay tells what it tells, failed or not, and counts nothing again", () => {
    const failed = event("response.failed", { response: { status: "failed", usage: { total_tokens: 1 } } });
    const reader = new ResponsesStreamReader({ replays: true });
    const out: Uint8Array[] = [];
    reader.push(bytesOf(CREATED + failed), out);
    expect(reader.finish(out)).toBe("complete");
    expect(textOf(concat(out))).toBe(CREATED + failed);
    expect(reader).toMatchObject({ usage: undefined, keeps: [], failure: undefined });
  });

  it("what is not kept is nowhere to be found (P8)", () => {
    expect(of(event("response.created", { response: { id: "resp_1", store: false } })).keeps).toEqual([]);
  });

  it("BH-14: CRLF, no space, cut between CR and LF", () => {
    const text = (CREATED + COMPLETED).replaceAll("data: ", "data:").replaceAll("\n", "\r\n");
    const cut = text.indexOf("\r\n\r\n") + 3;
    const got = run([bytesOf(text.slice(0, cut)), bytesOf(text.slice(cut))]);
    expect(got).toMatchObject({ text, verdict: "complete", model: "m-2", usage: { input: 11, output: 19 } });
  });

  it("BH-16: an end without a word of it is a cut; nothing at all is empty", () => {
    expect(of(CREATED, event("response.output_text.delta", { delta: "Half" })).verdict).toBe("cut");
    expect(of("data: [DONE]\n\n").verdict).toBe("empty");
    expect(of("").verdict).toBe("empty");
  });

  it.each([
    [event("error", { message: "broke", code: "server_error" })],
    [event("error", { error: { message: "broke" } })],
    ['event: error\ndata: {"message":"broke"}\n\n'],
    ['data: {"error":{"message":"broke","code":429}}\n\n'],
    [event("response.failed", { response: { status: "failed", error: { code: "x", message: "broke" } } })],
  ])("%j ends it, and does not go on", (said) => {
    const got = of(CREATED, said, COMPLETED);
    expect(got).toMatchObject({ verdict: "cut", text: CREATED, committed: false });
    expect(got.failure).toContain("broke");
  });
});

describe("answers that do not stream", () => {
  it.each(WHOLE)("$name is usable", ({ body }) => {
    expect(readResponsesAnswer(body)).toMatchObject({ kind: "usable" });
  });

  it.each([
    ['{"status":"completed","output":[]}', "invalid"],
    ["{}", "invalid"],
    ["[]", "invalid"],
    ['{"status":"completed","output":[{}]', "invalid"],
    ['{"status":"failed","output":[],"error":{"code":"server_error","message":"broke"}}', "error"],
    ['{"error":{"message":"broke"}}', "error"],
    ['{"status":"incomplete","output":[]}', "usable"],
    ['{"status":"queued","output":[]}', "usable"],
    ['{"output":[{"type":"message"}],"error":null}', "usable"],
  ])("BH-07: %s is %s", (body, kind) => {
    expect(readResponsesAnswer(bytesOf(body)).kind).toBe(kind);
  });
});

describe("error events", () => {
  const dialect = dialectOf("responses");
  const told = (data: object, sequence?: number): string =>
    textOf(dialect.providerErrorEvent(500, bytesOf(JSON.stringify(data)), "req_1", sequence));

  it("have a type and the next number", () => {
    const own = dialect.errorEvent({ status: 502, code: "upstream_unreachable", message: "m" }, "req_1", 4);
    expect(textOf(own)).toBe(
      'event: error\ndata: {"type":"error","code":"upstream_unreachable","message":"m","param":null,"sequence_number":4}\n\n',
    );
  });

  it("P5: the provider's own go on as they are, others with their words", () => {
    const failed = { type: "response.failed", sequence_number: 9, response: { error: { message: "broke" } } };
    expect(told(failed)).toBe(`event: response.failed\ndata: ${JSON.stringify(failed)}\n\n`);
    const error = { type: "error", sequence_number: 2, error: { type: "x", code: "y", message: "broke" } };
    expect(told(error, 5)).toBe(`event: error\ndata: ${JSON.stringify(error)}\n\n`);
    expect(told({ error: { message: "broke", code: "server_error", param: "p" } }, 3)).toBe(
      `event: error\ndata: ${JSON.stringify({ type: "error", code: "server_error", message: "broke", param: "p", sequence_number: 3 })}\n\n`,
    );
  });
});

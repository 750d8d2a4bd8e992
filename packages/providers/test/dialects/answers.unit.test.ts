import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readChatAnswer, readEmbeddingsAnswer } from "../../src/dialects/openai/answer.ts";
import {
  base64ToFloats,
  convertEmbeddings,
  floatsToBase64,
} from "../../src/dialects/openai/embedding-format.ts";
import { bytesOf, textOf } from "../support/bytes.ts";
import { providerCases } from "../support/fixtures.ts";

const FAMILIES = ["openai", "azure-openai"];
const answered = (endpoint: string) =>
  providerCases(FAMILIES, endpoint).filter(({ stream, status }) => !stream && status === 200);

describe("readChatAnswer", () => {
  it.each(answered("chat.completions"))("$name is usable", ({ body }) => {
    const { model, usage } = JSON.parse(textOf(body)) as { model: string; usage: Record<string, number> };
    expect(readChatAnswer(body)).toMatchObject({
      kind: "usable",
      model,
      usage: {
        input: usage["prompt_tokens"],
        output: usage["completion_tokens"],
        total: usage["total_tokens"],
      },
    });
  });

  it.each([
    [
      '"finish_reason":"error","error":{"message":"boom","code":502}',
      '{"error":{"message":"boom","code":502}}',
    ],
    ['"finish_reason":null,"error":"boom"', '{"error":"boom"}'],
  ])("section 5: a choice that broke off is its error: %s", (fields, said) => {
    const reading = readChatAnswer(bytesOf(`{"choices":[{"message":{"content":"par"},${fields}}]}`));
    expect(reading.kind === "error" && reading.said && textOf(reading.said)).toBe(said);
  });

  it.each([
    '"finish_reason":"stop","error":{"code":""}',
    '"finish_reason":"error","error":null',
    '"error":{}',
  ])("P1: one that says no more than that passes: %s", (fields) => {
    const body = `{"choices":[{"message":{"content":"\\"error\\""},${fields}}]}`;
    expect(readChatAnswer(bytesOf(body)).kind).toBe("usable");
  });

  it("tells cached and reasoning tokens", () => {
    const cases = answered("chat.completions");
    const usageOf = (name: string) => {
      const reading = readChatAnswer(cases.find((found) => found.name === name)?.body ?? bytesOf(""));
      return reading.kind === "usable" ? reading.usage : undefined;
    };
    expect(usageOf("openai/chat-cached-tokens")?.cached).toBeGreaterThan(0);
    expect(usageOf("openai/chat-reasoning-tokens")?.reasoning).toBeGreaterThan(0);
  });

  it.each([
    [
      "BH-07: no choice",
      '{"id":"c1","object":"chat.completion","choices":[],"usage":{"prompt_tokens":9}}',
      "invalid",
    ],
    ["null choices", '{"choices":null}', "invalid"],
    ["no choices", "{}", "invalid"],
    ["choices of another kind", '{"choices":[1]}', "invalid"],
    ["a body cut short", '{"choices":[{"index":0', "invalid"],
    ["no JSON", "<html></html>", "invalid"],
    ["nothing", "", "invalid"],
    ["a list", '[{"choices":[{}]}]', "invalid"],
    ["an error", '{"error":{"message":"busy","code":502}}', "error"],
    ["an error beside a choice", '{"error":"busy","choices":[{}]}', "error"],
    ["an error object", '{"object":"error","message":"busy"}', "error"],
    ["a null error", '{"error":null,"choices":[{"index":0}]}', "usable"],
    ["an unknown shape of usage", '{"choices":[{}],"usage":[]}', "usable"],
  ])("%s: %s is %s", (_what, body, kind) => {
    expect(readChatAnswer(bytesOf(body)).kind).toBe(kind);
  });
});

describe("embeddings", () => {
  it.each(answered("embeddings"))("$name is usable", ({ body }) => {
    expect(readEmbeddingsAnswer(body)).toMatchObject({ kind: "usable", usage: { output: 0 } });
  });

  it("an answer without embeddings is not", () => {
    expect(readEmbeddingsAnswer(bytesOf('{"data":[]}')).kind).toBe("invalid");
    expect(readEmbeddingsAnswer(bytesOf('{"choices":[{}]}')).kind).toBe("invalid");
  });

  it("BH-29: floats become base64 and the reverse, nothing beside them changes", () => {
    const floats =
      '{"object":"list", "data":[{"index":0,"embedding":[0.25,-1,3.5]},{"embedding": [0.5,2,0],"index":1}],"usage":{"prompt_tokens":2}}';
    const base64 = floats
      .replace("[0.25,-1,3.5]", '"AACAPgAAgL8AAGBA"')
      .replace("[0.5,2,0]", '"AAAAPwAAAEAAAAAA"');
    expect(textOf(convertEmbeddings(bytesOf(floats), "base64"))).toBe(base64);
    expect(textOf(convertEmbeddings(bytesOf(base64), "float"))).toBe(floats);
  });

  it("BH-29: bytes in the right format, or in none we know, come back as they are", () => {
    for (const text of [
      '{"data":[{"embedding":[1]}]}',
      '{"data":[{"embedding":{"x":1}},{},7]}',
      '{"data":7}',
      "x",
    ]) {
      const bytes = bytesOf(text);
      expect(convertEmbeddings(bytes, "float")).toBe(bytes);
    }
    const broken = bytesOf('{"data":[{"embedding":"not base64!"}]}');
    expect(convertEmbeddings(broken, "float")).toBe(broken);
  });

  it.each(answered("embeddings"))("BH-29: $name survives a round trip", ({ body }) => {
    const there = convertEmbeddings(body, "base64");
    const back = convertEmbeddings(convertEmbeddings(there, "float"), "base64");
    expect(back).toStrictEqual(there);
  });

  it("keeps every 32-bit float", () => {
    fc.assert(
      fc.property(fc.array(fc.float({ noNaN: true, noDefaultInfinity: true })), (vector) => {
        expect(base64ToFloats(floatsToBase64(vector) ?? "!")).toStrictEqual(vector);
      }),
    );
  });
});

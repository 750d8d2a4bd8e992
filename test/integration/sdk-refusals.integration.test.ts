import Anthropic, { BadRequestError as AnthropicBadRequest } from "@anthropic-ai/sdk";
import OpenAI, { BadRequestError } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FAMILIES, startMatrix } from "../support/vendors/families.ts";
import type { Matrix } from "../support/vendors/families.ts";
import { SCHEMA } from "../support/vendors/model.ts";

type Fields = Readonly<Record<string, unknown>>;
type Row = readonly [param: string, families: readonly string[], fields: Fields];

const CLAUDE = ["anthropic", "bedrock_mantle-claude", "vertex-claude"];
const CHAT = ["openai", "azure_openai", "openai_compatible", "bedrock_mantle", "gemini-openai"];
const GEMINI = ["gemini", "vertex"];
const USER = { role: "user", content: "chat" };
const TOOLS = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];
const FILE = { type: "file", file: { file_id: "file-1" } };
const AUDIO = { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } };
const PDF_URL = { type: "document", source: { type: "url", url: "https://a.example/b.pdf" } };
const IMAGE_URL = { type: "image_url", image_url: { url: "https://a.example/b.png" } };
const search = { type: "search_result", source: "s", title: "t", content: [{ type: "text", text: "x" }] };

/** What a chat caller can't have there. */
const CHAT_ROWS: readonly Row[] = [
  ["n", [...CLAUDE, "bedrock"], { n: 2 }],
  ["logprobs", [...CLAUDE, "bedrock"], { logprobs: true }],
  ["seed", [...CLAUDE, "bedrock"], { seed: 7 }],
  ["presence_penalty", [...CLAUDE, "bedrock"], { presence_penalty: 1 }],
  ["response_format", [...CLAUDE, "bedrock"], { response_format: { type: "json_object" } }],
  ["parallel_tool_calls", GEMINI, { tools: TOOLS, parallel_tool_calls: false }],
  ["logit_bias", [...CLAUDE, "bedrock", ...GEMINI], { logit_bias: { "50256": -100 } }],
  [
    "messages.0.content.0.file.file_id",
    [...CLAUDE, "bedrock", ...GEMINI],
    { messages: [{ role: "user", content: [FILE] }] },
  ],
  ["messages.0.content.0", [...CLAUDE, "bedrock"], { messages: [{ role: "user", content: [AUDIO] }] }],
  ["messages.0.content.0", ["bedrock"], { messages: [{ role: "user", content: [IMAGE_URL] }] }],
  ["tools.0.type", [...CLAUDE, "bedrock", ...GEMINI], { tools: [{ type: "custom", custom: { name: "c" } }] }],
];

/** What a messages caller can't have there. */
const MESSAGES_ROWS: readonly Row[] = [
  [
    "context_management",
    [...CHAT, "bedrock", ...GEMINI],
    { context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } },
  ],
  [
    "mcp_servers",
    [...CHAT, "bedrock", ...GEMINI],
    { mcp_servers: [{ type: "url", url: "https://a.example", name: "m" }] },
  ],
  ["top_k", ["openai", "azure_openai"], { top_k: 5 }],
  [
    "tools.0",
    [...CHAT, "bedrock", ...GEMINI],
    { tools: [{ type: "web_search_20250305", name: "web_search" }] },
  ],
  ["messages.0.content.0", ["bedrock"], { messages: [{ role: "user", content: [PDF_URL] }] }],
  ["messages.0.content.0.source", CHAT, { messages: [{ role: "user", content: [PDF_URL] }] }],
  [
    "messages.0.content.0",
    [...CHAT, "bedrock", ...GEMINI],
    { messages: [{ role: "user", content: [search] }] },
  ],
  ["messages.1", [...CHAT, ...GEMINI], { messages: [USER, { role: "assistant", content: "The answer is" }] }],
];

/** What a responses caller can't have there. */
const RESPONSES_ROWS: readonly Row[] = [
  ["background", ["openai_compatible", ...CLAUDE, "bedrock", ...GEMINI], { background: true }],
  [
    "tools.0.type",
    ["openai_compatible", ...CLAUDE, "bedrock", ...GEMINI],
    { tools: [{ type: "web_search" }] },
  ],
  [
    "input.0.type",
    ["openai_compatible", ...CLAUDE, "bedrock", ...GEMINI],
    { input: [{ type: "computer_call", id: "x" }] },
  ],
];

const flat = (rows: readonly Row[]): (readonly [string, string, Fields])[] =>
  rows.flatMap(([param, families, fields]) => families.map((family) => [family, param, fields] as const));

describe("P2: what a family can't be told is refused by its name, before any call", () => {
  let matrix: Matrix;
  let openai: OpenAI;
  let anthropic: Anthropic;
  beforeAll(async () => {
    matrix = await startMatrix("one-process");
    openai = new OpenAI({ baseURL: `${matrix.http}/v1`, apiKey: matrix.key, maxRetries: 0 });
    anthropic = new Anthropic({ baseURL: matrix.http, apiKey: matrix.key, maxRetries: 0 });
  });
  afterAll(() => matrix[Symbol.asyncDispose]());
  const named = (param: string): object => ({
    status: 400,
    type: "invalid_request_error",
    code: "not_translatable",
    param,
  });

  it.concurrent.for(flat(CHAT_ROWS))("chat on %s: %s", async ([model, param, fields]) => {
    const body = {
      model,
      messages: [USER],
      ...fields,
    } as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming;
    const refused = openai.chat.completions.create(body);
    await expect(refused).rejects.toBeInstanceOf(BadRequestError);
    await expect(refused).rejects.toMatchObject(named(param));
  });

  it.concurrent.for(flat(MESSAGES_ROWS))("messages on %s: %s", async ([model, param, fields]) => {
    const body = {
      model,
      max_tokens: 50,
      messages: [USER],
      ...fields,
    } as unknown as Anthropic.MessageCreateParamsNonStreaming;
    const refused = anthropic.messages.create(body);
    await expect(refused).rejects.toBeInstanceOf(AnthropicBadRequest);
    await expect(refused).rejects.toMatchObject({
      error: {
        type: "error",
        error: { type: "invalid_request_error", message: expect.stringContaining(`'${param}'`) as string },
      },
    });
  });

  it.concurrent.for(flat(RESPONSES_ROWS))("responses on %s: %s", async ([model, param, fields]) => {
    const body = {
      model,
      input: "hi",
      store: false,
      ...fields,
    } as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming;
    await expect(openai.responses.create(body)).rejects.toMatchObject(named(param));
  });

  it.concurrent("BH-03: arguments in the history that are no JSON are the caller's mistake, on every family that reads them", async () => {
    const call = { id: "call_1", type: "function" as const, function: { name: "f", arguments: '{"a": ' } };
    for (const model of [...CLAUDE, "bedrock", ...GEMINI]) {
      const refused = openai.chat.completions.create({
        model,
        messages: [
          { role: "user", content: "x" },
          { role: "assistant", content: null, tool_calls: [call] },
          { role: "tool", tool_call_id: "call_1", content: "r" },
        ],
        tools: [{ type: "function", function: { name: "f", parameters: SCHEMA } }],
      });
      await expect(refused).rejects.toMatchObject({ status: 400, type: "invalid_request_error" });
      await expect(refused).rejects.toThrow("messages.1.tool_calls.0.function.arguments");
    }
  });

  it("nobody was called", () => {
    expect(FAMILIES.flatMap(({ name }) => matrix.vendor(name).calls.map(({ path }) => path))).toEqual([]);
  });
});

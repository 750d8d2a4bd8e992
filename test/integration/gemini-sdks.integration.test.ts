import Anthropic from "@anthropic-ai/sdk";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { EOF, FLUSH, json, sse } from "@switchyard/testkit";
import type { Answer, RecordedCall } from "@switchyard/testkit";
import { generateText, jsonSchema, stepCountIs, streamText } from "ai";
import OpenAI, { BadRequestError } from "openai";
import { expect, it } from "vitest";
import type { Scene, SceneSpec } from "../support/gateway-scene.ts";
import { forEachForm } from "../support/gateway-stage.ts";

const ONE: SceneSpec = { order: ["A"], providers: { A: { family: "gemini" } } };
const SCHEMA = { type: "object", properties: { i: { type: "number" } } } as const;

interface Part {
  readonly thoughtSignature?: string;
  readonly functionCall?: { readonly args: object };
  readonly functionResponse?: object;
  readonly text?: string;
}

const CALLS: readonly Part[] = [
  { text: "hm", thought: true } as Part,
  { functionCall: { name: "f", args: { i: 1 } } as { args: object }, thoughtSignature: "U0lH" },
  { functionCall: { name: "f", args: { i: 2 } } as { args: object } },
];
const USAGE = { promptTokenCount: 5, candidatesTokenCount: 3, thoughtsTokenCount: 2, totalTokenCount: 10 };

/** A model that calls `f` twice and then answers, and that refuses a history which Gemini 3 would refuse. */
function gemini(call: RecordedCall): Answer {
  const { contents } = call.json() as { contents: { role: string; parts: Part[] }[] };
  if (contents.length === 1) return say(call.path, CALLS);
  const calls = (contents[1]?.parts ?? []).filter(({ functionCall }) => functionCall !== undefined);
  const isSigned = calls[0]?.thoughtSignature === "U0lH" && calls[1]?.thoughtSignature === undefined;
  const results = contents[2]?.parts.filter(({ functionResponse }) => functionResponse !== undefined);
  return isSigned && results?.length === 2
    ? say(call.path, [{ text: "done" }])
    : json(400, { error: { code: 400, message: "missing thought_signature", status: "INVALID_ARGUMENT" } });
}

function say(path: string, parts: readonly Part[]): Answer {
  const piece = (some: readonly Part[], more: object = {}): object => ({
    candidates: [{ index: 0, content: { role: "model", parts: some }, ...more }],
    usageMetadata: USAGE,
    modelVersion: "gemini-3",
  });
  const end = { finishReason: "STOP" };
  if (!path.includes("stream")) return json(200, piece(parts, end));
  const data = (body: object): string => `data: ${JSON.stringify(body)}\r\n\r\n`;
  return sse([...parts.flatMap((part) => [data(piece([part])), FLUSH]), data(piece([], end)), EOF]);
}

function compatible(scene: Scene): ReturnType<typeof createOpenAICompatible> {
  return createOpenAICompatible({ name: "switchyard", baseURL: `${scene.http}/v1`, apiKey: scene.key });
}

forEachForm("clients on Gemini", {}, (stage) => {
  it.concurrent("BH-26: openai runs a tool loop, whole and streamed", async () => {
    await using scene = await stage.scene(ONE);
    scene.A.answer(gemini);
    const client = new OpenAI({ baseURL: `${scene.http}/v1`, apiKey: scene.key, maxRetries: 0 });
    const tools = [{ type: "function" as const, function: { name: "f", parameters: SCHEMA } }];
    for (const stream of [false, true]) {
      const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "go" }];
      const ask = async (): Promise<OpenAI.ChatCompletion> =>
        stream
          ? client.chat.completions.stream({ model: scene.model, messages, tools }).finalChatCompletion()
          : client.chat.completions.create({ model: scene.model, messages, tools });
      const first = await ask();
      const message = first.choices[0]?.message as OpenAI.ChatCompletionMessage;
      expect(first.choices[0]?.finish_reason).toBe("tool_calls");
      expect(message.tool_calls).toMatchObject([
        { function: { arguments: '{"i":1}' } },
        { function: { arguments: '{"i":2}' } },
      ]);
      messages.push(message);
      for (const { id } of message.tool_calls ?? []) {
        messages.push({ role: "tool", tool_call_id: id, content: "r" });
      }
      expect((await ask()).choices[0]?.message.content).toBe("done");
    }
  });

  it.concurrent("BH-26: @anthropic-ai/sdk runs one with thinking, whole and streamed", async () => {
    await using scene = await stage.scene(ONE);
    scene.A.answer(gemini);
    const client = new Anthropic({ baseURL: scene.http, authToken: scene.key, apiKey: null, maxRetries: 0 });
    for (const stream of [false, true]) {
      const messages: Anthropic.MessageParam[] = [{ role: "user", content: "go" }];
      const body = {
        model: scene.model,
        max_tokens: 4000,
        thinking: { type: "enabled" as const, budget_tokens: 2000 },
        tools: [{ name: "f", input_schema: SCHEMA }],
        messages,
      };
      const ask = async (): Promise<Anthropic.Message> =>
        stream ? client.messages.stream(body).finalMessage() : client.messages.create(body);
      const first = await ask();
      expect(first.stop_reason).toBe("tool_use");
      expect(first.usage).toMatchObject({ input_tokens: 5, output_tokens: 5 });
      expect(first.content.map(({ type }) => type)).toEqual(["thinking", "tool_use", "tool_use"]);
      messages.push({ role: "assistant", content: first.content });
      const results = first.content.flatMap((block) =>
        block.type === "tool_use"
          ? [{ type: "tool_result" as const, tool_use_id: block.id, content: "r" }]
          : [],
      );
      messages.push({ role: "user", content: results });
      expect((await ask()).content).toMatchObject([{ type: "text", text: "done" }]);
    }
  });

  it.concurrent("BH-26: ai runs one by itself, whole and streamed", async () => {
    await using scene = await stage.scene(ONE);
    scene.A.answer(gemini);
    const options = {
      model: compatible(scene)(scene.model),
      prompt: "go",
      stopWhen: stepCountIs(3),
      tools: { f: { inputSchema: jsonSchema<{ i: number }>(SCHEMA), execute: () => Promise.resolve("r") } },
    };
    expect((await generateText(options)).text).toBe("done");
    expect(await streamText(options).text).toBe("done");
  });

  it.concurrent("structured output and errors come as clients know them", async () => {
    await using scene = await stage.scene(ONE);
    const client = new OpenAI({ baseURL: `${scene.http}/v1`, apiKey: scene.key, maxRetries: 0 });
    scene.A.answer(({ path }) => say(path, [{ text: '{"i":7}' }]));
    const format = { type: "json_schema" as const, json_schema: { name: "s", schema: SCHEMA } };
    const messages = [{ role: "user" as const, content: "go" }];
    const completion = await client.chat.completions.create({
      model: scene.model,
      messages,
      response_format: format,
    });
    expect(completion.choices[0]?.message.content).toBe('{"i":7}');
    expect(completion.usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 });
    expect(scene.A.calls[0]?.json()).toMatchObject({
      generationConfig: { responseMimeType: "application/json", responseJsonSchema: SCHEMA },
    });
    scene.A.answer(json(400, { error: { code: 400, message: "Bad thing.", status: "INVALID_ARGUMENT" } }));
    const failed = client.chat.completions.create({ model: scene.model, messages });
    await expect(failed).rejects.toThrow(BadRequestError);
    await expect(failed).rejects.toThrow("Bad thing.");
  });
});

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, embedMany, generateText, jsonSchema, streamText } from "ai";
import { expect, it } from "vitest";
import {
  CH,
  DONE,
  embeddings,
  failure,
  FLUSH,
  HEALTHY,
  OK,
  ROLE,
  RST,
  sse,
  tooMany,
} from "@switchyard/testkit";
import type { Scene } from "../support/gateway-scene.ts";
import { forEachForm } from "../support/gateway-stage.ts";

function providerOf(scene: Scene): ReturnType<typeof createOpenAICompatible> {
  return createOpenAICompatible({ name: "switchyard", baseURL: `${scene.http}/v1`, apiKey: scene.key });
}

forEachForm("the ai package", {}, (stage) => {
  it.concurrent("generates text", async () => {
    await using scene = await stage.scene();
    scene.A.answer(OK("hello"));
    const { text, usage } = await generateText({ model: providerOf(scene)(scene.model), prompt: "hi" });
    expect(text).toBe("hello");
    expect(usage.totalTokens).toBe(5);
  });

  it.concurrent("streams text, after a failover", async () => {
    await using scene = await stage.scene();
    scene.A.answer(failure(503, { message: "full" }));
    scene.B.answer(HEALTHY("hello"));
    const { textStream } = streamText({ model: providerOf(scene)(scene.model), prompt: "hi" });
    let text = "";
    for await (const piece of textStream) text += piece;
    expect(text).toBe("hello");
    expect(scene.counts).toEqual({ A: 1, B: 1 });
  });

  it.concurrent("calls a tool", async () => {
    await using scene = await stage.scene();
    const call = { index: 0, id: "call_1", type: "function", function: { name: "f", arguments: '{"a":1}' } };
    scene.A.answer(sse([ROLE, FLUSH, CH({ tool_calls: [call] }), CH({}, "tool_calls"), DONE]));
    const f = {
      description: "counts",
      inputSchema: jsonSchema<{ a: number }>({ type: "object", properties: { a: { type: "number" } } }),
    };
    const { toolCalls } = streamText({ model: providerOf(scene)(scene.model), prompt: "hi", tools: { f } });
    expect(await toolCalls).toMatchObject([{ toolCallId: "call_1", toolName: "f", input: { a: 1 } }]);
  });

  it.concurrent("embeds", async () => {
    await using scene = await stage.scene();
    scene.A.answer(embeddings([[0.25, -1]]));
    const model = providerOf(scene).embeddingModel(scene.model);
    expect((await embedMany({ model, values: ["p"] })).embeddings).toEqual([[0.25, -1]]);
  });

  it.concurrent("throws the provider's error, and tries again by itself when told so", async () => {
    await using scene = await stage.scene({ order: ["A"], policy: { bench: { failures: 0 } } });
    const model = providerOf(scene)(scene.model);
    scene.A.answer(failure(400, { message: "bad", type: "invalid_request_error" }));
    const refused = generateText({ model, prompt: "hi", maxRetries: 0 });
    await expect(refused).rejects.toBeInstanceOf(APICallError);
    await expect(refused).rejects.toMatchObject({ statusCode: 400, message: "bad", isRetryable: false });
    scene.A.clearCalls();
    scene.A.script([tooMany({ "Retry-After": "1" }), OK("late")]);
    expect((await generateText({ model, prompt: "hi", maxRetries: 1 })).text).toBe("late");
    expect(scene.counts).toEqual({ A: 2 });
  });

  it.concurrent("E6 is told when a stream breaks after it began", async () => {
    await using scene = await stage.scene();
    scene.A.answer(sse([ROLE, CH({ content: "half" }), FLUSH, RST]));
    const seen: unknown[] = [];
    const { fullStream } = streamText({
      model: providerOf(scene)(scene.model),
      prompt: "hi",
      maxRetries: 0,
      onError: ({ error }) => void seen.push(error),
    });
    let text = "";
    for await (const part of fullStream) if (part.type === "text-delta") text += part.text;
    expect(text).toBe("half");
    expect(seen).toHaveLength(1);
  });
});

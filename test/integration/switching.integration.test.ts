import { expect, it } from "vitest";
import { AE, failure, json, sse } from "@switchyard/testkit";
import type { Answer, RecordedCall } from "@switchyard/testkit";
import { forEachForm } from "../support/gateway-stage.ts";
import type { Scene, SceneSpec } from "../support/gateway-scene.ts";

const PATH = "/v1/messages";
const TOOL = { name: "f", input_schema: { type: "object" } };
const HI = { role: "user", content: "hi" };
const SKIPPED = "skip_thought_signature_validator";
const POOL: SceneSpec = { order: ["A", "B"], policy: { bench: { failures: 0 } } };

type Block = Record<string, unknown>;

/** A Gemini that signs its calls and refuses what it did not sign. */
function gemini(name: string): (call: RecordedCall) => Answer {
  return (call) => {
    const signatures = [...call.body.toString().matchAll(/"thoughtSignature":"([^"]*)"/gu)].map(
      ([, signature]) => signature,
    );
    if (signatures.some((signature) => signature !== SKIPPED && signature !== `SIG-${name}`)) {
      return json(400, {
        error: { code: 400, message: "Corrupted thought signature.", status: "INVALID_ARGUMENT" },
      });
    }
    const parts = [{ functionCall: { name: "f", args: {} }, thoughtSignature: `SIG-${name}` }];
    const answer = { candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }] };
    return call.path.includes("alt=sse") ? sse([`data: ${JSON.stringify(answer)}\n\n`]) : json(200, answer);
  };
}

/** A server of messages that signs what it thinks; Claude refuses what it did not sign. */
function thinker(name: string, isClaude: boolean): (call: RecordedCall) => Answer {
  return (call) => {
    const body = call.json() as { messages: { content: string | Block[] }[]; thinking?: { type: string } };
    const blocks = body.messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
    const foreign = blocks.some(({ type, signature }) => type === "thinking" && signature !== `SIG-${name}`);
    if (isClaude && foreign) {
      const error = { type: "invalid_request_error", message: "Invalid `signature` in `thinking` block" };
      return json(400, { type: "error", error });
    }
    const goesOn = blocks.some(({ type }) => type === "tool_result");
    if (
      isClaude &&
      goesOn &&
      body.thinking?.type === "enabled" &&
      blocks.every(({ type }) => type !== "thinking")
    ) {
      const error = { type: "invalid_request_error", message: "Expected `thinking`, but found `tool_use`" };
      return json(400, { type: "error", error });
    }
    const content = [
      { type: "thinking", thinking: "hm", signature: `SIG-${name}` },
      { type: "tool_use", id: `toolu_${name}`, name: "f", input: {} },
    ];
    const message = {
      id: "m",
      type: "message",
      role: "assistant",
      model: name,
      content,
      stop_reason: "tool_use",
    };
    return call.body.includes('"stream":true') ? sse([streamOf(message)]) : json(200, message);
  };
}

function streamOf(message: { readonly content: readonly Block[]; readonly stop_reason: string }): string {
  const events = message.content.flatMap((block, index) => [
    AE("content_block_start", {
      type: "content_block_start",
      index,
      content_block: block["type"] === "thinking" ? { ...block, signature: "" } : block,
    }),
    ...(block["type"] === "thinking"
      ? [
          AE("content_block_delta", {
            type: "content_block_delta",
            index,
            delta: { type: "signature_delta", signature: block["signature"] },
          }),
        ]
      : []),
    AE("content_block_stop", { type: "content_block_stop", index }),
  ]);
  return [
    AE("message_start", { type: "message_start", message: { ...message, content: [], usage: {} } }),
    ...events,
    AE("message_delta", {
      type: "message_delta",
      delta: { stop_reason: message.stop_reason },
      usage: { output_tokens: 1 },
    }),
    AE("message_stop", { type: "message_stop" }),
  ].join("");
}

/** The blocks of an answer, streamed or not, as a client keeps them. */
async function blocksOf(response: Response): Promise<Block[]> {
  const text = await response.text();
  expect([response.status, text]).toEqual([200, text]);
  if (text.startsWith("{")) return (JSON.parse(text) as { content: Block[] }).content;
  const blocks: Block[] = [];
  for (const line of text.split("\n")) {
    if (!line.startsWith("data: ")) continue;
    const event = JSON.parse(line.slice(6)) as { index: number; content_block?: Block; delta?: Block };
    const { index, content_block: block, delta } = event;
    if (block !== undefined) blocks[index] = { ...block };
    if (typeof delta?.["signature"] === "string") {
      const at = blocks[index] as Block;
      at["signature"] = `${at["signature"] as string}${delta["signature"]}`;
    }
  }
  return blocks;
}

async function turn(scene: Scene, messages: readonly object[], stream: boolean): Promise<Block[]> {
  const thinking = { type: "enabled", budget_tokens: 1024 };
  const fields = { max_tokens: 9000, tools: [TOOL], thinking, messages, stream };
  return blocksOf(await scene.send(fields, { path: PATH }));
}

function next(messages: readonly object[], content: readonly Block[]): object[] {
  const id = content.find(({ type }) => type === "tool_use")?.["id"];
  const result = { type: "tool_result", tool_use_id: id, content: "r" };
  return [...messages, { role: "assistant", content }, { role: "user", content: [result] }];
}

/** Two turns at A, a third at B, and a fourth at A again, each with a call that goes on. */
async function there(scene: Scene, stream: boolean, a: (call: RecordedCall) => Answer): Promise<void> {
  let messages: object[] = [HI];
  for (const isAway of [false, false, true, false]) {
    scene.A.answer(isAway ? failure(503, { message: "away" }) : a);
    messages = next(messages, await turn(scene, messages, stream));
  }
  expect(scene.counts).toEqual({ A: 4, B: 1 });
}

forEachForm("a conversation that changes its account", {}, (stage) => {
  it.concurrent.each([false, true])(
    "issue 4, item 7: between two accounts of Google's, stream %s",
    async (stream) => {
      const providers = { A: { family: "gemini" }, B: { family: "gemini" } };
      await using scene = await stage.scene({ ...POOL, providers });
      scene.B.answer(gemini("B"));
      await there(scene, stream, gemini("A"));
      expect(scene.A.calls[1]?.body.toString()).toContain('"thoughtSignature":"SIG-A"');
      expect(scene.B.calls[0]?.body.toString()).toContain(SKIPPED);
    },
  );

  it.concurrent.each([false, true])(
    "issue 4, item 7: from another model's server of messages to Claude and back, stream %s",
    async (stream) => {
      const providers = {
        A: { family: "openai_compatible", endpoints: ["messages"] },
        B: { family: "anthropic" },
      };
      await using scene = await stage.scene({ ...POOL, providers });
      scene.B.answer(thinker("B", true));
      await there(scene, stream, thinker("A", false));
      expect(scene.A.calls[1]?.body.toString()).toContain('"signature":"SIG-A"');
      expect(scene.B.calls[0]?.body.toString()).not.toContain("SIG-A");
    },
  );

  it.concurrent("issue 4, item 7: from Google to Claude and back", async () => {
    const providers = { A: { family: "gemini" }, B: { family: "anthropic" } };
    await using scene = await stage.scene({ ...POOL, providers });
    scene.B.answer(thinker("B", true));
    await there(scene, true, gemini("A"));
    expect(scene.B.calls[0]?.body.toString()).not.toContain("SIG-A");
  });

  it.concurrent("issue 4, item 7: Claude's thinking goes from account to account as it is", async () => {
    const providers = { A: { family: "anthropic" }, B: { family: "anthropic" } };
    await using scene = await stage.scene({ ...POOL, providers });
    scene.B.answer(thinker("A", true));
    await there(scene, true, thinker("A", true));
    expect(scene.B.calls[0]?.body.toString()).toContain('"signature":"SIG-A"');
  });
});

import { expect } from "vitest";
import { AE, FLUSH, G, json, OK, sse } from "@switchyard/testkit";
import type { Answer } from "@switchyard/testkit";
import type { Reply } from "./gateway-client.ts";
import type { Scene, SceneSpec } from "./gateway-scene.ts";
import { Refused } from "./vendors/vendor.ts";
import type { Vendor } from "./vendors/vendor.ts";

const BEDROCK_MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0";
/** One account of a family that the cases name. */
export const FAMILIES = {
  anth: { order: ["A"], providers: { A: { family: "anthropic" } } },
  bedrock: {
    order: ["A"],
    providers: { A: { family: "bedrock", region: "eu-central-1" } },
    deployments: { A: { model: BEDROCK_MODEL } },
  },
  gemini: { order: ["A"], providers: { A: { family: "gemini" } } },
  oai: { order: ["A"] },
} as const satisfies Record<string, SceneSpec>;
export type FamilyName = keyof typeof FAMILIES;

/** What each family says when nothing of it matters. */
export const SAYS: Readonly<Record<FamilyName, Answer>> = {
  anth: json(200, {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude",
    content: [{ type: "text", text: "ok" }],
    stop_reason: "end_turn",
    usage: { input_tokens: 1, output_tokens: 1 },
  }),
  bedrock: json(200, {
    output: { message: { role: "assistant", content: [{ text: "ok" }] } },
    stopReason: "end_turn",
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
  }),
  gemini: json(200, {
    candidates: [{ index: 0, content: { role: "model", parts: [{ text: "ok" }] }, finishReason: "STOP" }],
  }),
  oai: OK("ok"),
};

/** A tool of chat's, without parameters. */
export const tool = (name: string): object => ({
  type: "function",
  function: { name, parameters: { type: "object" } },
});
export const call = (id: string, name: string, args: string): object => ({
  id,
  type: "function",
  function: { name, arguments: args },
});
export const result = (id: string, content: string): object => ({ role: "tool", tool_call_id: id, content });
/** The body of a call that A received. */
export const bodyOf = (scene: Scene, place = 0): Record<string, unknown> =>
  scene.A.calls[place]?.json() as Record<string, unknown>;

/** Answers as long as the real API would take the request, else 400 with the reason. */
export function strict(vendor: Vendor, answer: Answer): Parameters<Scene["A"]["answer"]>[0] {
  return (received) => {
    try {
      vendor.read(received);
      return answer;
    } catch (error) {
      if (error instanceof Refused) return vendor.fail("invalid_request", error.message);
      throw error;
    }
  };
}

/** A whole content block of a stream of Anthropic's. */
export const block = (index: number, content_block: object, deltas: readonly object[]): string =>
  AE("content_block_start", { type: "content_block_start", index, content_block }) +
  deltas.map((delta) => AE("content_block_delta", { type: "content_block_delta", index, delta })).join("") +
  AE("content_block_stop", { type: "content_block_stop", index });
export const jsonDelta = (partial_json: string): object => ({ type: "input_json_delta", partial_json });
export const toolUse = (id: string, name: string): object => ({ type: "tool_use", id, name, input: {} });
/** An answer of Anthropic's that calls tools. */
export const message = (content: readonly object[], output_tokens: number): object => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude",
  content,
  stop_reason: "tool_use",
  usage: { input_tokens: 5, output_tokens },
});
/** An Anthropic stream of these blocks that calls tools. */
export const stream = (...blocks: readonly string[]): Answer =>
  sse([
    AE("message_start", { type: "message_start", message: { ...message([], 1), stop_reason: null } }),
    ...blocks.flatMap((each) => [each, FLUSH]),
    AE("message_delta", {
      type: "message_delta",
      delta: { stop_reason: "tool_use", stop_sequence: null },
      usage: { output_tokens: 21 },
    }),
    AE("message_stop", { type: "message_stop" }),
  ]);

/** A whole stream of Anthropic's that says one text. */
export const anthropicSays = (text: string): string =>
  AE("message_start", {
    type: "message_start",
    message: {
      id: "m",
      type: "message",
      role: "assistant",
      model: "c",
      content: [],
      stop_reason: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  }) +
  block(0, { type: "text", text: "" }, [{ type: "text_delta", text }]) +
  AE("message_delta", {
    type: "message_delta",
    delta: { stop_reason: "end_turn" },
    usage: { output_tokens: 2 },
  }) +
  AE("message_stop", { type: "message_stop" });

/** A whole stream of Gemini's that says one text. */
export const geminiSays = (text: string): string =>
  G({ candidates: [{ index: 0, content: { role: "model", parts: [{ text }] }, finishReason: "STOP" }] });

export interface Call {
  readonly id: string;
  readonly index?: number;
  readonly function: { readonly name: string; readonly arguments: string };
}

export interface Message {
  readonly text: string;
  readonly calls: readonly Call[];
  readonly finishes: readonly string[];
}

/** Joins chunks by the calls' indexes. */
export async function streamed(
  scene: Scene,
  fields: object,
): Promise<Message & { readonly done: boolean; readonly raw: string }> {
  const reply = await scene.stream(fields);
  expect(reply.status).toBe(200);
  const calls: { id: string; function: { name: string; arguments: string } }[] = [];
  const finishes: string[] = [];
  for (const { data } of reply.events) {
    if (!data.startsWith("{")) continue;
    const { choices } = JSON.parse(data) as {
      choices: { delta: { tool_calls?: (Call & { index: number })[] }; finish_reason: string | null }[];
    };
    for (const { index, ...delta } of choices[0]?.delta.tool_calls ?? []) {
      const known = calls[index];
      if (known === undefined) calls[index] = { id: delta.id, function: { ...delta.function } };
      else known.function.arguments += delta.function.arguments;
    }
    const reason = choices[0]?.finish_reason;
    if (typeof reason === "string") finishes.push(reason);
  }
  return { text: reply.text, calls, finishes, done: reply.done, raw: reply.bytes.toString("utf8") };
}

/** The same of an answer at once. */
export function wholeOf(reply: Reply): Message {
  const { choices } = reply.json() as {
    choices: { message: { content: string | null; tool_calls?: Call[] }; finish_reason: string }[];
  };
  const [choice] = choices;
  return {
    text: choice?.message.content ?? "",
    calls: choice?.message.tool_calls ?? [],
    finishes: choices.map(({ finish_reason }) => finish_reason),
  };
}

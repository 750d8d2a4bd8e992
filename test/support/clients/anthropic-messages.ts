import Anthropic, { APIError } from "@anthropic-ai/sdk";
import { PNG, RESULTS, SCHEMA, SYSTEM, TOOL_SCHEMAS } from "../vendors/model.ts";
import { promptOf, usesTools } from "./client.ts";
import type { Client, Wish } from "./client.ts";

const FINISH: Readonly<Record<string, string>> = { end_turn: "stop", tool_use: "tool_calls" };

/** `@anthropic-ai/sdk`. */
export const anthropicMessages: Client = {
  name: "@anthropic-ai/sdk",
  dialect: "messages",
  echoes: true,
  talk: async (wish) => {
    const messages = firstMessages(wish);
    const first = await ask(wish, messages);
    const calls = first.content.filter((block) => block.type === "tool_use");
    let last = first;
    if (calls.length > 0) {
      messages.push({ role: "assistant", content: first.content });
      const content = calls.map(({ id, name }) => ({
        type: "tool_result" as const,
        tool_use_id: id,
        content: RESULTS[name] ?? "",
      }));
      messages.push({ role: "user", content });
      last = await ask(wish, messages);
    }
    const { usage } = first;
    const cached = usage.cache_read_input_tokens ?? 0;
    return {
      text: last.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(""),
      thinking: first.content
        .flatMap((block) => (block.type === "thinking" ? [block.thinking] : []))
        .join(""),
      calls: calls.map(({ name, input }) => ({ name, args: input })),
      finish: FINISH[first.stop_reason ?? ""] ?? String(first.stop_reason),
      usage: {
        input: usage.input_tokens + cached + (usage.cache_creation_input_tokens ?? 0),
        cached,
        output: usage.output_tokens,
      },
    };
  },
  leave: async (wish) => {
    const body = { ...bodyOf(wish, firstMessages(wish)), stream: true as const };
    const stream = await clientOf(wish).messages.create(body);
    for await (const { type } of stream) if (type === "content_block_delta") stream.controller.abort();
  },
  read: (error) => {
    if (!(error instanceof APIError)) throw error;
    return {
      thrown: error.constructor.name,
      status: error.status as number | undefined,
      message: error.message,
      headers: Object.fromEntries((error.headers as Headers | undefined) ?? []),
      body: error.error as unknown,
    };
  },
};

function clientOf({ http, key }: Wish): Anthropic {
  return new Anthropic({ baseURL: http, apiKey: key, maxRetries: 0 });
}

function firstMessages(wish: Wish): Anthropic.MessageParam[] {
  const text = promptOf(wish, true);
  const source = { type: "base64" as const, media_type: "image/png" as const, data: PNG };
  return [
    {
      role: "user",
      content:
        wish.feature === "image"
          ? [
              { type: "image", source },
              { type: "text", text },
            ]
          : text,
    },
  ];
}

function bodyOf(wish: Wish, messages: Anthropic.MessageParam[]): Anthropic.MessageCreateParamsNonStreaming {
  const tools = Object.entries(TOOL_SCHEMAS).map(([name, schema]) => ({
    name,
    input_schema: schema as unknown as Anthropic.Tool.InputSchema,
  }));
  return {
    model: wish.model,
    max_tokens: 4000,
    system: SYSTEM,
    messages,
    ...(usesTools(wish) ? { tools } : {}),
    ...(wish.feature === "structured"
      ? {
          output_config: {
            format: { type: "json_schema" as const, schema: SCHEMA as unknown as Record<string, unknown> },
          },
        }
      : {}),
    ...(wish.feature === "thinking" ? { thinking: { type: "enabled" as const, budget_tokens: 2000 } } : {}),
  };
}

async function ask(wish: Wish, messages: Anthropic.MessageParam[]): Promise<Anthropic.Message> {
  const body = bodyOf(wish, messages);
  const client = clientOf(wish);
  return wish.stream ? client.messages.stream(body).finalMessage() : client.messages.create(body);
}

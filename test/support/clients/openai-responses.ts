import type OpenAI from "openai";
import type { ResponseStreamParams } from "openai/lib/responses/ResponseStream";
import { PNG, RESULTS, SCHEMA, SYSTEM, TOOL_SCHEMAS } from "../vendors/model.ts";
import { promptOf, usesTools } from "./client.ts";
import type { Client, Wish } from "./client.ts";
import { clientOf, readOpenAi } from "./openai-chat.ts";

type Body = OpenAI.Responses.ResponseCreateParamsNonStreaming;

/** `openai`, responses; nothing is stored, so the caller gives all items back. */
export const openAiResponses: Client = {
  name: "openai responses",
  dialect: "responses",
  echoes: true,
  talk: async (wish) => {
    const input = firstInput(wish);
    const first = await ask(wish, input);
    const calls = first.output.filter((item) => item.type === "function_call");
    let text = first.output_text;
    if (calls.length > 0) {
      input.push(...(first.output as OpenAI.Responses.ResponseInputItem[]));
      for (const { call_id, name } of calls)
        input.push({ type: "function_call_output", call_id, output: RESULTS[name] ?? "" });
      text = (await ask(wish, input)).output_text;
    }
    const thoughts = first.output.filter((item) => item.type === "reasoning");
    return {
      text,
      thinking: thoughts.flatMap(({ summary }) => summary.map((part) => part.text)).join(""),
      calls: calls.map(({ name, arguments: args }) => ({ name, args: JSON.parse(args) as unknown })),
      finish: calls.length > 0 ? "tool_calls" : first.status === "completed" ? "stop" : String(first.status),
      usage: {
        input: first.usage?.input_tokens ?? 0,
        cached: first.usage?.input_tokens_details?.cached_tokens ?? 0,
        output: first.usage?.output_tokens ?? 0,
      },
    };
  },
  leave: async (wish) => {
    const body = { ...bodyOf(wish, firstInput(wish)), stream: true as const };
    const stream = await clientOf(wish).responses.create(body);
    for await (const { type } of stream) if (type === "response.output_text.delta") stream.controller.abort();
  },
  read: readOpenAi,
};

function firstInput(wish: Wish): OpenAI.Responses.ResponseInputItem[] {
  const text = promptOf(wish, true);
  const image = {
    type: "input_image" as const,
    detail: "auto" as const,
    image_url: `data:image/png;base64,${PNG}`,
  };
  return [{ role: "user", content: wish.feature === "image" ? [image, { type: "input_text", text }] : text }];
}

function bodyOf(wish: Wish, input: OpenAI.Responses.ResponseInputItem[]): Body {
  const tools = Object.entries(TOOL_SCHEMAS).map(([name, parameters]) => ({
    type: "function" as const,
    name,
    parameters,
    strict: false,
  }));
  const format = { type: "json_schema" as const, name: "place", strict: true, schema: SCHEMA };
  return {
    model: wish.model,
    input,
    instructions: SYSTEM,
    store: false,
    ...(usesTools(wish) ? { tools } : {}),
    ...(wish.feature === "structured" ? { text: { format } } : {}),
    ...(wish.feature === "thinking"
      ? {
          reasoning: { effort: "low" as const, summary: "auto" as const },
          include: ["reasoning.encrypted_content" as const],
        }
      : {}),
  };
}

async function ask(
  wish: Wish,
  input: OpenAI.Responses.ResponseInputItem[],
): Promise<OpenAI.Responses.Response> {
  const body = bodyOf(wish, input);
  const client = clientOf(wish);
  return wish.stream
    ? client.responses.stream(body as ResponseStreamParams).finalResponse()
    : client.responses.create(body);
}

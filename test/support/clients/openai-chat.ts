import OpenAI, { APIError } from "openai";
import type { ChatCompletionStreamParams } from "openai/lib/ChatCompletionStream";
import { PNG, RESULTS, SCHEMA, SYSTEM, TOOL_SCHEMAS } from "../vendors/model.ts";
import { promptOf, usesTools } from "./client.ts";
import type { Client, Heard, Thrown, Wish } from "./client.ts";

type Message = OpenAI.ChatCompletionMessage & {
  reasoning_content?: string;
  reasoning_details?: { index?: number; text?: string; signature?: string }[];
};

/** `openai`, chat completions. Streams are put together as their users do who think of reasoning, which the SDK's helper does not. */
export const openAiChat: Client = {
  name: "openai chat",
  dialect: "chat",
  echoes: true,
  talk: async (wish) => {
    const messages = firstMessages(wish);
    const first = await ask(wish, messages);
    const { message, finish_reason: finish } = first.choices[0] as OpenAI.ChatCompletion.Choice;
    const own = message as Message;
    const calls = (message.tool_calls ?? []).filter((call) => call.type === "function");
    let text = message.content ?? "";
    if (calls.length > 0) {
      messages.push(message);
      for (const { id, function: called } of calls)
        messages.push({ role: "tool", tool_call_id: id, content: RESULTS[called.name] ?? "" });
      text = (await ask(wish, messages)).choices[0]?.message.content ?? "";
    }
    const { usage } = first;
    return {
      text,
      thinking: own.reasoning_content ?? "",
      calls: calls.map(({ function: { name, arguments: args } }) => ({
        name,
        args: JSON.parse(args) as unknown,
      })),
      finish,
      usage: {
        input: usage?.prompt_tokens ?? 0,
        cached: usage?.prompt_tokens_details?.cached_tokens ?? 0,
        output: usage?.completion_tokens ?? 0,
      },
    } satisfies Heard;
  },
  leave: async (wish) => {
    const body = { ...bodyOf(wish, firstMessages(wish)), stream: true as const };
    const stream = await clientOf(wish).chat.completions.create(body);
    for await (const { choices } of stream) {
      if ((choices[0]?.delta.content ?? "") !== "") stream.controller.abort();
    }
  },
  read: readOpenAi,
};

export function readOpenAi(error: unknown): Thrown {
  if (!(error instanceof APIError)) throw error;
  return {
    thrown: error.constructor.name,
    status: error.status as number | undefined,
    message: error.message,
    headers: Object.fromEntries((error.headers as Headers | undefined) ?? []),
    body: { error: error.error as unknown },
  };
}

export function clientOf({ http, key }: Wish): OpenAI {
  return new OpenAI({ baseURL: `${http}/v1`, apiKey: key, maxRetries: 0 });
}

function firstMessages(wish: Wish): OpenAI.ChatCompletionMessageParam[] {
  const text = promptOf(wish, true);
  const image = { type: "image_url" as const, image_url: { url: `data:image/png;base64,${PNG}` } };
  return [
    { role: "system", content: SYSTEM },
    { role: "user", content: wish.feature === "image" ? [image, { type: "text", text }] : text },
  ];
}

function bodyOf(
  wish: Wish,
  messages: OpenAI.ChatCompletionMessageParam[],
): OpenAI.ChatCompletionCreateParamsNonStreaming {
  const tools = Object.entries(TOOL_SCHEMAS).map(([name, parameters]) => ({
    type: "function" as const,
    function: { name, parameters },
  }));
  const format = {
    type: "json_schema" as const,
    json_schema: { name: "place", strict: true, schema: SCHEMA },
  };
  return {
    model: wish.model,
    messages,
    ...(usesTools(wish) ? { tools } : {}),
    ...(wish.feature === "structured" ? { response_format: format } : {}),
    ...(wish.feature === "thinking" ? { reasoning_effort: "low" as const } : {}),
  };
}

async function ask(
  wish: Wish,
  messages: OpenAI.ChatCompletionMessageParam[],
): Promise<OpenAI.ChatCompletion> {
  const body = bodyOf(wish, messages);
  const client = clientOf(wish);
  if (!wish.stream) return client.chat.completions.create(body);
  const streamed = { ...body, stream_options: { include_usage: true } };
  const stream = client.chat.completions.stream(streamed as unknown as ChatCompletionStreamParams);
  let reasoning = "";
  const details: NonNullable<Message["reasoning_details"]> = [];
  stream.on("chunk", ({ choices }) => {
    const delta = choices[0]?.delta as Message | undefined;
    reasoning += delta?.reasoning_content ?? "";
    for (const detail of delta?.reasoning_details ?? []) {
      const known = details.find(({ index }) => index === detail.index);
      if (known === undefined) details.push({ ...detail });
      else Object.assign(known, detail, { text: (known.text ?? "") + (detail.text ?? "") });
    }
  });
  const completion = await stream.finalChatCompletion();
  const message = completion.choices[0]?.message as Message;
  if (reasoning !== "") message.reasoning_content = reasoning;
  if (details.length > 0) message.reasoning_details = details;
  return completion;
}

import Anthropic from "@anthropic-ai/sdk";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import OpenAI from "openai";
import { Gathering, type Meaning } from "./meaning.ts";
import { parseOrText } from "./values.ts";

/** A server that answers everything with this stream. */
function serving(stream: string): () => Promise<Response> {
  return () => Promise.resolve(new Response(stream, { headers: { "content-type": "text/event-stream" } }));
}

const HI = [{ role: "user" as const, content: "hi" }];

/** The completion that OpenAI's client makes of the chunks, as JSON. */
export async function completionOf(stream: string): Promise<string> {
  const client = new OpenAI({ apiKey: "k", fetch: serving(stream), maxRetries: 0 });
  const run = client.chat.completions.stream({
    model: "m",
    messages: HI,
    stream_options: { include_usage: true },
  });
  return JSON.stringify(await run.finalChatCompletion());
}

/** The message that Anthropic's client makes of the events, as JSON. */
export async function messageOf(stream: string): Promise<string> {
  const client = new Anthropic({ apiKey: "k", fetch: serving(stream), maxRetries: 0 });
  return JSON.stringify(
    await client.messages.stream({ model: "m", max_tokens: 9, messages: HI }).finalMessage(),
  );
}

/** The response that OpenAI's client makes of the events, as JSON. */
export async function responseOf(stream: string): Promise<string> {
  const client = new OpenAI({ apiKey: "k", fetch: serving(stream), maxRetries: 0 });
  return JSON.stringify(await client.responses.stream({ model: "m", input: "hi" }).finalResponse());
}

type Heard = Pick<Meaning["said"][number], "pieces"> & { readonly finish: string };

/** What Vercel's client hears of chat chunks or of messages events. */
export async function heard(dialect: "chat" | "messages", stream: string): Promise<Heard> {
  const fetch = serving(stream);
  const model =
    dialect === "chat"
      ? createOpenAICompatible({ name: "s", baseURL: "http://h/v1", apiKey: "k", fetch })("m")
      : createAnthropic({ apiKey: "k", fetch })("m");
  const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "hi" }] }];
  const { stream: parts } = await model.doStream({ prompt });
  const gathering = new Gathering();
  let finish = "";
  for await (const part of parts) {
    if (part.type === "text-delta") gathering.say("text", part.delta);
    else if (part.type === "reasoning-delta") gathering.say("thinking", part.delta);
    else if (part.type === "tool-call") {
      gathering.call({ id: part.toolCallId, name: part.toolName, input: parseOrText(part.input) });
    } else if (part.type === "finish") finish = part.finishReason.unified;
    else if (part.type === "error") throw part.error;
  }
  return { pieces: gathering.pieces, finish };
}

import Anthropic from "@anthropic-ai/sdk";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import OpenAI from "openai";
import { Gathering, type Piece } from "./meaning.ts";
import { parseOrText } from "./values.ts";

/** A server that answers everything with this body. */
function serving(body: string, type = "text/event-stream"): () => Promise<Response> {
  return () => Promise.resolve(new Response(body, { headers: { "content-type": type } }));
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

type Model = ReturnType<ReturnType<typeof createAnthropic>>;
type Generated = Awaited<ReturnType<Model["doGenerate"]>>;

/** What Vercel's client makes of an answer. */
export interface Heard {
  readonly pieces: readonly Piece[];
  readonly finish: string;
  /** Tokens; absent where it knows of none. */
  readonly input: number | undefined;
  readonly cached: number | undefined;
  readonly output: number | undefined;
}

function modelOf(dialect: "chat" | "messages", fetch: () => Promise<Response>): Model {
  return dialect === "chat"
    ? createOpenAICompatible({ name: "s", baseURL: "http://h/v1", apiKey: "k", fetch })("m")
    : createAnthropic({ apiKey: "k", fetch })("m");
}

const PROMPT = [{ role: "user" as const, content: [{ type: "text" as const, text: "hi" }] }];

/** What Vercel's client hears of chat chunks or of messages events. */
export async function heard(dialect: "chat" | "messages", stream: string): Promise<Heard> {
  const { stream: parts } = await modelOf(dialect, serving(stream)).doStream({ prompt: PROMPT });
  const gathering = new Gathering();
  let end: Omit<Heard, "pieces"> | undefined;
  for await (const part of parts) {
    if (part.type === "text-delta") gathering.say("text", part.delta);
    else if (part.type === "reasoning-delta") gathering.say("thinking", part.delta);
    else if (part.type === "tool-call") {
      gathering.call({ id: part.toolCallId, name: part.toolName, input: parseOrText(part.input) });
    } else if (part.type === "finish") end = endOf(part);
    else if (part.type === "error") throw part.error;
  }
  if (end === undefined) throw new Error("it has no end");
  return { pieces: gathering.pieces, ...end };
}

/** What Vercel's client reads of a completion or a message. */
export async function heardWhole(dialect: "chat" | "messages", body: string): Promise<Heard> {
  const answer = await modelOf(dialect, serving(body, "application/json")).doGenerate({ prompt: PROMPT });
  const gathering = new Gathering();
  for (const part of answer.content) {
    if (part.type === "text") gathering.say("text", part.text);
    else if (part.type === "reasoning") gathering.say("thinking", part.text);
    else if (part.type === "tool-call")
      gathering.call({ id: part.toolCallId, name: part.toolName, input: parseOrText(part.input) });
  }
  return { pieces: gathering.pieces, ...endOf(answer) };
}

function endOf({ finishReason, usage }: Pick<Generated, "finishReason" | "usage">): Omit<Heard, "pieces"> {
  const { total: input, cacheRead: cached } = usage.inputTokens;
  return { finish: finishReason.unified, input, cached, output: usage.outputTokens.total };
}

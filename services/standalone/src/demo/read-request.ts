import type { IncomingMessage } from "node:http";
import { tokensOf } from "./answers.ts";

const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** The body as a JSON object; undefined when it is none, or too large. */
export async function readObject(request: IncomingMessage): Promise<Record<string, unknown> | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_BODY_BYTES) return undefined;
    parts.push(part);
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(parts).toString("utf8"));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The texts to embed; undefined when `input` is none of the forms the API takes. */
export function inputsOf(input: unknown): string[] | undefined {
  if (typeof input === "string") return [input];
  if (!Array.isArray(input) || input.length === 0) return undefined;
  if (input.every((item) => typeof item === "number")) return [input.join(" ")];
  const texts = input.map((item: unknown) => (Array.isArray(item) ? item.join(" ") : item));
  return texts.every((item) => typeof item === "string") ? texts : undefined;
}

/** Tokens of all messages. */
export function promptTokens(messages: readonly unknown[]): number {
  return tokensOf(JSON.stringify(messages));
}

/** The caller's bound on the answer, in words; the whole answer when there is none. */
export function wordLimit(body: Readonly<Record<string, unknown>>): number {
  const bound = body["max_completion_tokens"] ?? body["max_tokens"];
  return typeof bound === "number" && bound >= 1 ? Math.floor(bound) : Number.POSITIVE_INFINITY;
}

export function wantsUsage(body: Readonly<Record<string, unknown>>): boolean {
  const options = body["stream_options"];
  return isObject(options) && options["include_usage"] === true;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type ProviderCase, providerCases } from "../support/fixtures.ts";
import { readChat, readChatStream } from "./chat-reader.ts";
import { readConverse, readConverseStream } from "./converse-reader.ts";
import { readGemini, readGeminiStream } from "./gemini-reader.ts";
import type { CallerDialect } from "./losses.ts";
import type { Meaning } from "./meaning.ts";
import { readMessage, readMessageStream } from "./messages-reader.ts";
import { readResponse, readResponseStream } from "./responses-reader.ts";

/** Where the golden files are. */
export const GOLDEN = fileURLToPath(new URL("../../../../test/fixtures/golden/", import.meta.url));

/** A provider's answer and what a caller of one dialect gets for it. */
export interface Pair {
  readonly name: string;
  readonly dialect: CallerDialect;
  readonly stream: boolean;
  readonly status: number;
  readonly recorded: ProviderCase;
  /** The golden body, without what the test writes about it. */
  readonly golden: string;
  /** How a stream ended. */
  readonly verdict: string | undefined;
}

/** Whose recordings are translated. */
export const FAMILIES = [
  "anthropic",
  "azure-openai",
  "bedrock",
  "deepseek",
  "gemini",
  "groq",
  "mistral",
  "moonshot",
  "ollama-vllm",
  "openai",
  "openrouter",
  "together",
  "vertex",
  "xai",
  "zai",
];

const CALLERS: readonly CallerDialect[] = ["chat", "messages", "responses"];

/** Endpoints of providers that are translated, with the dialect that passes through. */
const ENDPOINTS: Readonly<Record<string, CallerDialect | undefined>> = {
  "chat.completions": "chat",
  messages: "messages",
  converse: undefined,
  "converse-stream": undefined,
  generateContent: undefined,
  streamGenerateContent: undefined,
};

/** Every recorded answer in each dialect that it can be asked in; a golden file that is not there is told in `missing`. */
export function pairs(): { readonly pairs: readonly Pair[]; readonly missing: readonly string[] } {
  const found: Pair[] = [];
  const missing: string[] = [];
  for (const [endpoint, native] of Object.entries(ENDPOINTS)) {
    for (const recorded of providerCases(FAMILIES, endpoint)) {
      for (const dialect of CALLERS.filter((caller) => caller !== native)) {
        const file = `${recorded.name}.${dialect}.txt`;
        if (existsSync(GOLDEN + file))
          found.push(pairOf(recorded, dialect, readFileSync(GOLDEN + file, "utf8")));
        else missing.push(file);
      }
    }
  }
  return { pairs: found, missing };
}

function pairOf(recorded: ProviderCase, dialect: CallerDialect, text: string): Pair {
  const { name, status } = recorded;
  const stream = recorded.stream && status === 200;
  const end = stream ? text.lastIndexOf("== {") : text.length;
  const told = stream ? (JSON.parse(text.slice(end + 3)) as { verdict: string }) : undefined;
  return { name, dialect, stream, status, recorded, golden: text.slice(0, end), verdict: told?.verdict };
}

/** What the provider said. */
export function readRecorded({ endpoint, stream, body }: ProviderCase): Meaning {
  const text = new TextDecoder().decode(body);
  switch (endpoint) {
    case "chat.completions":
      return stream ? readChatStream(text) : readChat(text);
    case "messages":
      return stream ? readMessageStream(text) : readMessage(text);
    case "converse":
      return readConverse(text);
    case "converse-stream":
      return readConverseStream(body);
    default:
      return stream ? readGeminiStream(text) : readGemini(text);
  }
}

/** What its caller reads. */
export function readGolden({ dialect, stream, golden }: Pair): Meaning {
  switch (dialect) {
    case "chat":
      return stream ? readChatStream(golden) : readChat(golden);
    case "messages":
      return stream ? readMessageStream(golden) : readMessage(golden);
    case "responses":
      return stream ? readResponseStream(golden) : readResponse(golden);
  }
}

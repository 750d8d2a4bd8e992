import { fileURLToPath } from "node:url";
import { dialectOf } from "../../src/dialects/index.ts";
import type { FamilyName } from "../../src/families/capabilities.ts";
import { TranslationFault } from "../../src/translate/fault.ts";
import { textOf } from "./bytes.ts";
import { planOf, runStream, sent } from "./exchange.ts";
import { type ProviderCase, providerCases } from "./fixtures.ts";

/** Where the reviewed files are. */
export const GOLDEN: string = fileURLToPath(new URL("../../../../test/fixtures/golden/", import.meta.url));

/** One recorded answer as a caller of another dialect gets it. */
export interface GoldenCase {
  /** Path below {@link GOLDEN}. */
  readonly file: string;
  readonly text: string;
}

const COMPATIBLE = [
  "azure-openai",
  "openai",
  "deepseek",
  "groq",
  "mistral",
  "ollama-vllm",
  "xai",
  "zai",
  "moonshot",
  "together",
  "openrouter",
];

/** Vendors with an API of their own and one like OpenAI's, each with a recorded answer of it. */
const COMPATIBLE_TOO = ["anthropic", "bedrock", "gemini"];

/** Every recorded answer of a translated endpoint, and every recorded request, told in the other dialect. */
export function goldenCases(): GoldenCase[] {
  return [
    ...providerCases(["anthropic"], "messages").flatMap((found) => tell(found, "chat", "anthropic")),
    ...providerCases([...COMPATIBLE, ...COMPATIBLE_TOO], "chat.completions").flatMap((found) =>
      tell(found, "messages", familyOf(found.name)),
    ),
    ...["generateContent", "streamGenerateContent"]
      .flatMap((endpoint) => providerCases(["gemini", "vertex"], endpoint))
      .flatMap((found) => tellBoth(found, found.name.startsWith("gemini/") ? "gemini" : "vertex")),
    ...["converse", "converse-stream"]
      .flatMap((endpoint) => providerCases(["bedrock"], endpoint))
      .flatMap((found) => tellBoth(found, "bedrock")),
    ...providerCases(["anthropic"], "messages").flatMap((found) => toConverse(found, "messages")),
    ...providerCases(["openai"], "chat.completions").flatMap((found) => toConverse(found, "chat")),
    ...providerCases(["anthropic"], "messages").flatMap((found) => toGemini(found, "messages")),
    ...providerCases(["openai"], "chat.completions").flatMap((found) => toGemini(found, "chat")),
    ...responsesCases(),
  ];
}

/** What callers of responses get from whoever has another API, and what those get from them. */
function responsesCases(): GoldenCase[] {
  const answers = (families: readonly string[], endpoint: string, family: FamilyName): GoldenCase[] =>
    providerCases(families, endpoint).map((found) => ({
      file: `${found.name}.responses.txt`,
      text: answerText(found, "responses", family),
    }));
  const requests = providerCases(
    ["openai", "azure-openai", "openrouter", "xai", "deepseek"],
    "responses",
  ).flatMap(({ name, request }) =>
    request === undefined
      ? []
      : [
          { file: `${name}.chat.json`, text: textOrRefusal("responses", "openai_compatible", request, "m") },
          { file: `${name}.messages.json`, text: textOrRefusal("responses", "anthropic", request, "m") },
        ],
  );
  return [
    ...answers(["anthropic"], "messages", "anthropic"),
    ...answers([...COMPATIBLE, ...COMPATIBLE_TOO], "chat.completions", "openai_compatible"),
    ...answers(["gemini"], "generateContent", "gemini"),
    ...answers(["gemini"], "streamGenerateContent", "gemini"),
    ...answers(["vertex"], "generateContent", "vertex"),
    ...answers(["vertex"], "streamGenerateContent", "vertex"),
    ...answers(["bedrock"], "converse", "bedrock"),
    ...answers(["bedrock"], "converse-stream", "bedrock"),
    ...requests,
  ];
}

function familyOf(name: string): FamilyName {
  if (name.startsWith("openai/")) return "openai";
  return name.startsWith("azure-openai/") ? "azure_openai" : "openai_compatible";
}

function tell(found: ProviderCase, dialect: "chat" | "messages", family: FamilyName): GoldenCase[] {
  const answer = { file: `${found.name}.${dialect}.txt`, text: answerText(found, dialect, family) };
  if (found.request === undefined) return [answer];
  return [answer, { file: `${found.name}.request.json`, text: requestText(found.request, dialect) }];
}

/** An API that no caller speaks: its answers are told in both dialects, its requests in none. */
function tellBoth(found: ProviderCase, family: FamilyName): GoldenCase[] {
  return (["chat", "messages"] as const).map((dialect) => ({
    file: `${found.name}.${dialect}.txt`,
    text: answerText(found, dialect, family),
  }));
}

/** The recorded request of a caller's dialect, put to Claude on Bedrock. */
function toConverse({ name, request }: ProviderCase, endpoint: "chat" | "messages"): GoldenCase[] {
  if (request === undefined) return [];
  const text = textOrRefusal(endpoint, "bedrock", request, "us.anthropic.claude-sonnet-4-5-20250929-v1:0");
  return [{ file: `${name}.converse.json`, text }];
}

/** The recorded request of a caller's dialect, put to Gemini. */
function toGemini({ name, request }: ProviderCase, endpoint: "chat" | "messages"): GoldenCase[] {
  if (request === undefined) return [];
  return [{ file: `${name}.gemini.json`, text: textOrRefusal(endpoint, "gemini", request, "gemini-3-pro") }];
}

/** The recorded request, which is in the provider's dialect, put to a provider of the other one. */
function requestText(request: Uint8Array, dialect: "chat" | "messages"): string {
  return dialect === "chat"
    ? textOrRefusal("messages", "openai", request, "m")
    : textOrRefusal("chat", "anthropic", request, "m");
}

function textOrRefusal(
  endpoint: "chat" | "messages" | "responses",
  target: FamilyName,
  request: Uint8Array,
  model: string,
): string {
  try {
    return `${JSON.stringify(sent(planOf(endpoint, target, textOf(request), { model })).json, null, 2)}\n`;
  } catch (error) {
    if (!(error instanceof TranslationFault)) throw error;
    const { code, param, message } = error;
    return `${JSON.stringify({ refused: { code, param, message } }, null, 2)}\n`;
  }
}

function answerText(
  found: ProviderCase,
  dialect: "chat" | "messages" | "responses",
  family: FamilyName,
): string {
  const streams = found.stream && found.status === 200;
  const messages = [{ role: "user", content: "hi" }];
  const body =
    dialect === "responses"
      ? { model: "g", stream: streams, input: "hi", include: ["reasoning.encrypted_content"] }
      : dialect === "chat"
        ? { model: "g", stream: streams, stream_options: { include_usage: true }, messages }
        : { model: "g", stream: streams, max_tokens: 10, messages };
  const plan = planOf(dialect, family, body);
  if (found.status !== 200) {
    const error = dialectOf(dialect).providerErrorBody(found.status, found.body, "req_1");
    return `${found.status}\n${pretty(textOf(error))}`;
  }
  if (!streams) {
    const reading = plan.readAnswer(found.body);
    return reading.kind === "usable" ? pretty(textOf(reading.body)) : `${JSON.stringify(reading)}\n`;
  }
  const run = runStream(plan, [found.body]);
  return `${run.text}== ${JSON.stringify({ verdict: run.verdict, failure: run.failure, usage: run.usage })}\n`;
}

function pretty(json: string): string {
  return `${JSON.stringify(JSON.parse(json), null, 2)}\n`;
}

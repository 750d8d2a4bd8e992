import type { Endpoint } from "@switchyard/core";
import { joined } from "../../src/json/splice.ts";
import type { StreamVerdict } from "../../src/dialects/dialect.ts";
import type { TokenUsage } from "../../src/neutral/usage.ts";
import type { FamilyName } from "../../src/families/capabilities.ts";
import type { ProviderAccount } from "../../src/families/family.ts";
import { FAMILIES } from "../../src/families/index.ts";
import { readRequestFacts } from "../../src/request/facts.ts";
import type { ExchangeInput, ExchangePlan, ReadAnswer } from "../../src/exchange/exchange.ts";
import { planExchange } from "../../src/exchange/plan-exchange.ts";
import { bytesOf, concat, textOf } from "./bytes.ts";

const ACCOUNTS: Readonly<Partial<Record<FamilyName, ProviderAccount>>> = {
  openai: {},
  anthropic: {},
  gemini: {},
  bedrock: { region: "us-east-1" },
  bedrock_mantle: { region: "us-east-1" },
  vertex: { project: "p", location: "l" },
};

/** Plans one attempt of a caller's body, given as an object or as JSON text. */
export function planOf(
  endpoint: Endpoint,
  familyName: FamilyName,
  body: object | string,
  more: Partial<ExchangeInput> = {},
): ExchangePlan {
  const bytes = bytesOf(typeof body === "string" ? body : JSON.stringify(body));
  const read = readRequestFacts(endpoint, bytes);
  const family = FAMILIES.get(familyName);
  if (!read.ok) throw new Error(read.fault.message);
  if (family === undefined) throw new Error(`no family ${familyName}`);
  return planExchange({
    family,
    account: ACCOUNTS[familyName] ?? { baseUrl: "https://h/v1" },
    model: "m",
    facts: read.facts,
    body: bytes,
    query: "",
    secret: "sk",
    callerHeaders: [],
    countsTokens: false,
    requestId: "req_1",
    now: 1_700_000_000_000,
    ...more,
  });
}

/** What the provider gets, as text and parsed. */
export function sent(plan: ExchangePlan): { readonly text: string; readonly json: Record<string, unknown> } {
  const text = textOf(joined(plan.request.body));
  return { text, json: JSON.parse(text) as Record<string, unknown> };
}

/** One stream, read to its end. */
export interface StreamRun {
  readonly text: string;
  readonly verdict: StreamVerdict;
  readonly committed: boolean;
  readonly failure: string | undefined;
  readonly model: string | undefined;
  readonly usage: TokenUsage | undefined;
}

/** Sends these pieces through the plan's stream reader. */
export function runStream(plan: ExchangePlan, pieces: readonly (Uint8Array | string)[]): StreamRun {
  const reader = plan.openStream();
  const out: Uint8Array[] = [];
  for (const piece of pieces) reader.push(typeof piece === "string" ? bytesOf(piece) : piece, out);
  const verdict = reader.finish(out);
  const { committed, failure, model, usage } = reader;
  const text = textOf(concat(out));
  return { text, verdict, committed, failure: failure && textOf(failure), model, usage };
}

/** The answer as the caller gets it, parsed. */
export function answered(plan: ExchangePlan, body: object | string): Record<string, unknown> {
  const reading: ReadAnswer = plan.readAnswer(
    bytesOf(typeof body === "string" ? body : JSON.stringify(body)),
  );
  if (reading.kind !== "usable") throw new Error(`the answer is ${reading.kind}`);
  return JSON.parse(textOf(reading.body)) as Record<string, unknown>;
}

/** The objects in a stream of server-sent events, without pings and `[DONE]`. */
export function eventsOf(text: string): Record<string, unknown>[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)) as Record<string, unknown>)
    .filter((event) => event["type"] !== "ping");
}

import { readCountAnswer, readMessagesAnswer } from "../dialects/anthropic/answer.ts";
import { MessagesStreamReader } from "../dialects/anthropic/messages-stream.ts";
import type { AnswerReading } from "../dialects/answer.ts";
import type { StreamReader } from "../dialects/dialect.ts";
import { readChatAnswer, readEmbeddingsAnswer } from "../dialects/openai/answer.ts";
import { createChatStreamReader } from "../dialects/openai/chat-stream.ts";
import { convertEmbeddings } from "../dialects/openai/embedding-format.ts";
import type { TokenUsage } from "../dialects/usage.ts";
import { type Family, FamilyError, type ProviderAccount, type ProviderRequest } from "../families/family.ts";
import { type Json, parseJson, printJson } from "../json/lossless.ts";
import { encodeUtf8 } from "../json/text.ts";
import type { AnswerEvent } from "../neutral/events.ts";
import { type BodyFacts, readRequestFacts } from "../request/facts.ts";
import { rewriteBody } from "../request/rewrite.ts";
import { withoutUnsignedThinking } from "../request/unsigned-thinking.ts";
import { type AnswerContext, AnswerFault, type CallerFormat, type ProviderFormat } from "./format.ts";
import { CALLER_FORMATS, PROVIDER_FORMATS, SSE_TYPE } from "./formats.ts";
import { TranslatedStreamReader } from "./stream-reader.ts";

/** One attempt, in the caller's words. */
export interface ExchangeInput {
  readonly family: Family;
  readonly account: ProviderAccount;
  /** The provider's name of the model. */
  readonly model: string;
  /** Of the body; its endpoint is the one that was called. */
  readonly facts: BodyFacts;
  readonly body: Uint8Array;
  /** Of the caller's URL, without the question mark. */
  readonly query: string;
  readonly secret: string | undefined;
  /** Flat: name, value, … */
  readonly callerHeaders: readonly string[];
  /** Someone is charged by the token, so a chat stream must tell its usage (P4). */
  readonly countsTokens: boolean;
  readonly requestId: string;
  /** Unix time, ms. */
  readonly now: number;
}

/** What a success that does not stream turned out to be. `body` is the caller's. */
export type ReadAnswer =
  | {
      readonly kind: "usable";
      readonly body: Uint8Array;
      readonly usage: TokenUsage | undefined;
      readonly model: string | undefined;
    }
  /** A 200 that holds an error; the body is to be recognised as one. */
  | { readonly kind: "error" }
  /** No usable answer: class `invalid_response`. `reason` holds nothing of the body. */
  | { readonly kind: "invalid"; readonly reason: string };

/** What to send to a provider, and how its answer becomes the caller's. */
export interface ExchangePlan {
  readonly request: ProviderRequest;
  /** The answer is told in other words, so bytes that were not read whole can't go on. */
  readonly translated: boolean;
  /** `content-type` of the provider's streams, without parameters. */
  readonly streamType: string;
  openStream(): StreamReader;
  readAnswer(body: Uint8Array): ReadAnswer;
}

/**
 * Plans one attempt: bytes that pass through where the family serves the endpoint itself (P1), else a translation (P2). Throws a
 * {@link TranslationFault} for a request that can't be said there, and a {@link FamilyError} for one that should not have come here.
 */
export function planExchange(input: ExchangeInput): ExchangePlan {
  const { facts, family } = input;
  const wire = family.wireOf({ endpoint: facts.endpoint, account: input.account, model: input.model });
  if (wire === facts.endpoint) return passThrough(input);
  const caller = CALLER_FORMATS[facts.endpoint];
  const provider = PROVIDER_FORMATS[wire];
  if (caller === undefined || provider === undefined) {
    throw new FamilyError(`${facts.endpoint} can't be translated for ${family.name}`);
  }
  return translated(input, wire, caller, provider);
}

function passThrough(input: ExchangeInput): ExchangePlan {
  const { facts } = input;
  const askUsage = facts.stream && facts.endpoint === "chat" && input.countsTokens;
  const request = input.family.buildRequest({
    ...input,
    endpoint: facts.endpoint,
    translated: false,
    stream: facts.stream,
    body: ownBody(input, askUsage),
  });
  const stripUsage = askUsage && !facts.usageAsked;
  return {
    request,
    translated: false,
    streamType: SSE_TYPE,
    openStream: () =>
      facts.endpoint === "messages" ? new MessagesStreamReader() : createChatStreamReader({ stripUsage }),
    readAnswer: (body) => readOwnAnswer(facts, body),
  };
}

/** P1, but for thinking that would brick a conversation whose earlier turns another vendor served. */
function ownBody({ facts, body, model }: ExchangeInput, askUsage: boolean): Uint8Array {
  const isAnthropic = facts.endpoint === "messages" || facts.endpoint === "count_tokens";
  const clean = isAnthropic ? withoutUnsignedThinking(body, facts.layout.messages) : body;
  if (clean === body) return rewriteBody(body, facts, { model, askUsage });
  const read = readRequestFacts(facts.endpoint, clean);
  return read.ok ? rewriteBody(clean, read.facts, { model, askUsage }) : body;
}

function readOwnAnswer(facts: BodyFacts, body: Uint8Array): ReadAnswer {
  switch (facts.endpoint) {
    case "embeddings": {
      const reading = readEmbeddingsAnswer(body);
      if (reading.kind !== "usable") return reading;
      return { ...reading, body: convertEmbeddings(body, facts.encodingFormat ?? "float") };
    }
    case "messages":
      return withBody(readMessagesAnswer(body), body);
    case "count_tokens":
      return withBody(readCountAnswer(body), body);
    default:
      return withBody(readChatAnswer(body), body);
  }
}

function withBody(reading: AnswerReading, body: Uint8Array): ReadAnswer {
  return reading.kind === "usable" ? { ...reading, body } : reading;
}

function translated(
  input: ExchangeInput,
  wire: ReturnType<Family["wireOf"]>,
  caller: CallerFormat,
  provider: ProviderFormat,
): ExchangePlan {
  const { facts, model, family } = input;
  // The facts were read from a valid document.
  const neutral = caller.readRequest(parseJson(input.body) as Json);
  const body = provider.writeRequest(neutral, { family: family.name, model });
  const request = family.buildRequest({
    ...input,
    endpoint: wire,
    translated: true,
    stream: facts.stream,
    body: encodeUtf8(printJson(body)),
    query: "",
  });
  const context: AnswerContext = {
    createdAt: Math.floor(input.now / 1000),
    model,
    requestId: input.requestId,
    usageAsked: facts.usageAsked,
  };
  return {
    request,
    translated: true,
    streamType: provider.streamType,
    openStream: () => new TranslatedStreamReader(provider, caller.openStream(context), context),
    readAnswer: (answer) => readTranslated(answer, provider, caller, context),
  };
}

function readTranslated(
  answer: Uint8Array,
  provider: ProviderFormat,
  caller: CallerFormat,
  context: AnswerContext,
): ReadAnswer {
  const reading = provider.readAnswer(answer);
  if (reading.kind !== "usable") return reading;
  const events: AnswerEvent[] = [];
  try {
    provider.decodeAnswer(parseJson(answer) as Json, (event) => events.push(event), context);
    return { ...reading, body: encodeUtf8(printJson(caller.encodeAnswer(events, context))) };
  } catch (error) {
    if (error instanceof AnswerFault) return { kind: "invalid", reason: error.message };
    throw error;
  }
}

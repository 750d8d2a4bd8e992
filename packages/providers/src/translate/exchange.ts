import { readCountAnswer, readMessagesAnswer } from "../dialects/anthropic/answer.ts";
import { MessagesStreamReader } from "../dialects/anthropic/messages-stream.ts";
import type { AnswerReading } from "../dialects/answer.ts";
import type { StreamReader } from "../dialects/dialect.ts";
import { readChatAnswer, readEmbeddingsAnswer } from "../dialects/openai/answer.ts";
import { createChatStreamReader } from "../dialects/openai/chat-stream.ts";
import { convertEmbeddings } from "../dialects/openai/embedding-format.ts";
import { readResponsesAnswer } from "../dialects/responses/answer.ts";
import { ResponsesStreamReader } from "../dialects/responses/responses-stream.ts";
import type { TokenUsage } from "../dialects/usage.ts";
import { isClaude } from "../families/capabilities.ts";
import { betasOf } from "../families/request-headers.ts";
import { type Family, FamilyError, type ProviderAccount, type ProviderRequest } from "../families/family.ts";
import { type JsonObject, parseJson, printJson, type Json } from "../json/lossless.ts";
import type { Pieces } from "../json/splice.ts";
import { encodeUtf8 } from "../json/text.ts";
import type { AnswerEvent } from "../neutral/events.ts";
import { type BodyFacts, readRequestFacts } from "../request/facts.ts";
import { rewriteBody } from "../request/rewrite.ts";
import { marked, type MarkedKey, ownContents, ownThoughtSignatures } from "../request/origin-marks.ts";
import { withoutForeignThinking } from "../request/foreign-thinking.ts";
import { type AnswerContext, AnswerFault, type CallerFormat, type ProviderFormat } from "./format.ts";
import { CALLER_FORMATS, PROVIDER_FORMATS, SSE_TYPE } from "./formats.ts";
import { ElsewhereFault } from "./fault.ts";
import { MarkedStreamReader } from "./marked-reader.ts";
import { markSignatures, type Origin, withOwnSignatures } from "./own-signatures.ts";
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
  /** The secret was got for the account's credential. Absent means no. */
  readonly secretIsToken?: boolean | undefined;
  /** Flat: name, value, … */
  readonly callerHeaders: readonly string[];
  /** Someone is charged by the token, so a chat stream must tell its usage (P4). */
  readonly countsTokens: boolean;
  readonly requestId: string;
  /** Unix time, ms. */
  readonly now: number;
  /** The account's mark (see `originOf`), and whether other accounts may serve the caller's later requests (BH-31). Absent: no marks. */
  readonly origin?: Origin | undefined;
}

/** What a success that does not stream turned out to be. `body` is the caller's. */
export type ReadAnswer =
  | {
      readonly kind: "usable";
      readonly body: Uint8Array;
      readonly usage: TokenUsage | undefined;
      readonly model: string | undefined;
      /** Ids under which the provider keeps the answer (P8); absent where it keeps none. */
      readonly keeps?: readonly string[];
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
 * {@link TranslationFault} for a request that can't be said there, an {@link ElsewhereFault} for one that another account alone can go on with, and a {@link FamilyError} for one that should not have come here.
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
    openStream: () => openOwnStream(input, stripUsage),
    readAnswer: (body) => markedAnswer(readOwnAnswer(facts, body), input),
  };
}

function markedAnswer(answer: ReadAnswer, input: ExchangeInput): ReadAnswer {
  const { origin } = input;
  if (answer.kind !== "usable" || origin?.shared !== true) return answer;
  const body = markedKeys(input).reduce((bytes, key) => marked(bytes, origin.own, key), answer.body);
  return { ...answer, body };
}

/** What of an answer that passes through only the account that made it can read or check (BH-31). Claude's signatures are good everywhere. */
function markedKeys(input: ExchangeInput): readonly MarkedKey[] {
  switch (input.facts.endpoint) {
    case "responses":
      return ["encrypted_content"];
    case "chat":
      return input.family.name === "gemini"
        ? ["encrypted_content", "thought_signature"]
        : ["encrypted_content"];
    case "messages":
      return servesClaude(input) ? [] : ["signature"];
    default:
      return [];
  }
}

/** Whether who speaks messages is Claude. Servers of other models speak it too, some with signatures of their own. */
function servesClaude({ family, model }: ExchangeInput): boolean {
  const isOthers = family.name === "openai_compatible" || family.name === "openrouter";
  return !isOthers || isClaude(model);
}

function openOwnStream(input: ExchangeInput, stripUsage: boolean): StreamReader {
  const reader = openPassingStream(input.facts.endpoint, stripUsage);
  const keys = input.origin?.shared === true ? markedKeys(input) : [];
  return input.origin === undefined || keys.length === 0
    ? reader
    : new MarkedStreamReader(reader, input.origin.own, keys);
}

function openPassingStream(endpoint: BodyFacts["endpoint"], stripUsage: boolean): StreamReader {
  if (endpoint === "messages") return new MessagesStreamReader();
  return endpoint === "responses" ? new ResponsesStreamReader() : createChatStreamReader({ stripUsage });
}

/** P1, but for thinking that would brick a conversation whose earlier turns another vendor or account served. */
function ownBody(input: ExchangeInput, askUsage: boolean): Pieces {
  const { facts, body, model } = input;
  const clean = cleanBody(input);
  if (clean === body) return rewriteBody(body, facts, { model, askUsage });
  const read = readRequestFacts(facts.endpoint, clean);
  return read.ok ? rewriteBody(clean, read.facts, { model, askUsage }) : body;
}

function cleanBody(input: ExchangeInput): Uint8Array {
  const { facts, body, origin } = input;
  switch (facts.endpoint) {
    case "messages":
    case "count_tokens": {
      const reader = { isClaude: servesClaude(input), own: origin?.own };
      return withoutForeignThinking(body, facts.layout.messages, reader);
    }
    case "responses":
    case "chat":
      return origin === undefined ? body : withOwnContents(input, origin);
    default:
      return body;
  }
}

function withOwnContents({ facts, body, family }: ExchangeInput, { own, shared }: Origin): Uint8Array {
  const isGoogles = facts.endpoint === "chat" && family.name === "gemini";
  // Elsewhere too they may stand in the history, where Google served before.
  const signed = isGoogles || shared ? ownThoughtSignatures(body, own, isGoogles && shared) : body;
  if (!facts.encrypted) return signed;
  const contents = ownContents(signed, own, shared);
  if (contents.isElsewhere) throw new ElsewhereFault();
  return contents.body;
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
    case "responses":
      return withBody(readResponsesAnswer(body), body);
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
  const asked = parseJson(input.body) as JsonObject;
  const neutral = withOwnSignatures(caller.readRequest(asked), input.origin);
  const betas = betasOf(input.callerHeaders);
  const body = provider.writeRequest(neutral, { family: family.name, model, betas });
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
    request: asked,
  };
  return {
    request,
    translated: true,
    streamType: provider.streamType,
    openStream: () => new TranslatedStreamReader(provider, caller.openStream(context), context, input.origin),
    readAnswer: (answer) => readTranslated(answer, provider, caller, context, input.origin),
  };
}

function readTranslated(
  answer: Uint8Array,
  provider: ProviderFormat,
  caller: CallerFormat,
  context: AnswerContext,
  origin: Origin | undefined,
): ReadAnswer {
  const reading = provider.readAnswer(answer);
  if (reading.kind !== "usable") return reading;
  const events: AnswerEvent[] = [];
  try {
    const emit = markSignatures((event) => events.push(event), origin);
    provider.decodeAnswer(parseJson(answer) as Json, emit, context);
    return { ...reading, body: encodeUtf8(printJson(caller.encodeAnswer(events, context))) };
  } catch (error) {
    if (error instanceof AnswerFault) return { kind: "invalid", reason: error.message };
    throw error;
  }
}

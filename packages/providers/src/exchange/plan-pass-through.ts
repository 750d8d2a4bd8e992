import { readCountAnswer, readMessagesAnswer } from "../dialects/anthropic/answer.ts";
import { MessagesStreamReader } from "../dialects/anthropic/messages-stream.ts";
import type { AnswerReading } from "../dialects/answer.ts";
import type { StreamReader } from "../dialects/dialect.ts";
import { readChatAnswer, readEmbeddingsAnswer } from "../dialects/openai/answer.ts";
import { createChatStreamReader } from "../dialects/openai/chat-stream.ts";
import { convertEmbeddings } from "../dialects/openai/embedding-format.ts";
import { readResponsesAnswer } from "../dialects/responses/answer.ts";
import { ResponsesStreamReader } from "../dialects/responses/responses-stream.ts";
import { isClaude } from "../families/capabilities.ts";
import type { Pieces } from "../json/splice.ts";
import { withoutForeignSignatures } from "../origin/foreign-signatures.ts";
import { withoutForeignThinking } from "../origin/foreign-thinking.ts";
import { withoutLostReasoning } from "../origin/lost-reasoning.ts";
import { withMissingSignatures } from "../origin/missing-signatures.ts";
import { wantsSignatures } from "../origin/no-signature.ts";
import { marked, type MarkedKey, ownContents, ownThoughtSignatures } from "../origin/origin-marks.ts";
import type { Origin } from "../origin/own-signatures.ts";
import { type BodyFacts, readRequestFacts } from "../request/facts.ts";
import { rewriteBody } from "../request/rewrite.ts";
import { SSE_TYPE } from "../sse/framer.ts";
import { ElsewhereFault } from "../translate/fault.ts";
import type { ExchangeInput, ExchangePlan, ReadAnswer } from "./exchange.ts";
import { MarkedStreamReader } from "./marked-reader.ts";

/** P1: the family serves the endpoint itself, so bytes go on as they are but for `model` and what is bound to an account (BH-31). */
export function planPassThrough(input: ExchangeInput): ExchangePlan {
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

function withOwnContents(input: ExchangeInput, { own, shared }: Origin): Uint8Array {
  const { facts, family } = input;
  const isGoogles = facts.endpoint === "chat" && family.name === "gemini";
  const body = isGoogles ? withSignatures(input) : withoutLost(input, { own, shared });
  // Elsewhere too they may stand in the history, where Google served before.
  const signed = isGoogles || shared ? ownThoughtSignatures(body, own, isGoogles && shared) : body;
  if (!facts.encrypted) return signed;
  const contents = ownContents(signed, own, shared);
  if (contents.isElsewhere) throw new ElsewhereFault();
  return contents.body;
}

function withSignatures({ facts, body, model }: ExchangeInput): Uint8Array {
  return wantsSignatures(model) ? withMissingSignatures(body, facts.layout.messages) : body;
}

/** Without what the server would refuse the conversation for: signatures of Google's that are not its own, reasoning that it does not keep. */
function withoutLost({ facts, body, family }: ExchangeInput, { own, shared }: Origin): Uint8Array {
  const { endpoint, layout } = facts;
  const list = endpoint === "chat" ? layout.messages : layout.input;
  const mayBeGoogle = family.name === "openai_compatible" || family.name === "openrouter";
  const clean = withoutForeignSignatures(body, list, { own, mayBeGoogle });
  if (endpoint === "chat") return clean;
  const read = clean === body ? undefined : readRequestFacts(endpoint, clean);
  const input = read === undefined ? list : read.ok ? read.facts.layout.input : undefined;
  return withoutLostReasoning(clean, input, shared);
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

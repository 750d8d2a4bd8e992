import { readMessagesAnswer } from "../dialects/anthropic/answer.ts";
import { decodeMessage, openMessagesStream } from "../dialects/anthropic/decoder.ts";
import { encodeMessage, MessagesStreamEncoder } from "../dialects/anthropic/encoder.ts";
import { readMessagesRequest } from "../dialects/anthropic/request-reader.ts";
import { writeMessagesRequest } from "../dialects/anthropic/request-writer.ts";
import { readConverseAnswer } from "../dialects/converse/answer.ts";
import { decodeConverse } from "../dialects/converse/decoder.ts";
import { writeConverseRequest } from "../dialects/converse/request-writer.ts";
import { openConverseStream } from "../dialects/converse/stream-decoder.ts";
import { EVENT_STREAM_TYPE } from "../event-stream/framer.ts";
import { SSE_TYPE } from "../sse/framer.ts";
import { readChatAnswer } from "../dialects/openai/answer.ts";
import { readGenerateAnswer } from "../dialects/gemini/answer.ts";
import { decodeGenerated, openGenerateStream } from "../dialects/gemini/decoder.ts";
import { writeGenerateRequest } from "../dialects/gemini/request-writer.ts";
import { decodeCompletion, openChatStream } from "../dialects/openai/decoder.ts";
import { ChatStreamEncoder, encodeCompletion } from "../dialects/openai/encoder.ts";
import { readChatRequest } from "../dialects/openai/request-reader.ts";
import { writeChatRequest } from "../dialects/openai/request-writer.ts";
import { encodeResponse, ResponsesStreamEncoder } from "../dialects/responses/encoder.ts";
import { readResponsesRequest } from "../dialects/responses/request-reader.ts";
import type { Wire } from "../families/family.ts";
import type { Endpoint } from "@switchyard/core";
import type { CallerFormat, ProviderFormat } from "../dialects/format.ts";

/** What callers speak, where it can be translated. */
export const CALLER_FORMATS: Readonly<Partial<Record<Endpoint, CallerFormat>>> = {
  chat: {
    readRequest: readChatRequest,
    openStream: (context) => new ChatStreamEncoder(context),
    encodeAnswer: encodeCompletion,
  },
  messages: {
    readRequest: readMessagesRequest,
    openStream: (context) => new MessagesStreamEncoder(context),
    encodeAnswer: encodeMessage,
  },
  responses: {
    readRequest: readResponsesRequest,
    openStream: (context) => new ResponsesStreamEncoder(context),
    encodeAnswer: encodeResponse,
  },
};

/** What providers speak, where something is translated to it. */
export const PROVIDER_FORMATS: Readonly<Partial<Record<Wire, ProviderFormat>>> = {
  chat: {
    streamType: SSE_TYPE,
    writeRequest: writeChatRequest,
    readAnswer: readChatAnswer,
    decodeAnswer: decodeCompletion,
    openStream: openChatStream,
  },
  messages: {
    streamType: SSE_TYPE,
    writeRequest: writeMessagesRequest,
    readAnswer: readMessagesAnswer,
    decodeAnswer: decodeMessage,
    openStream: openMessagesStream,
  },
  converse: {
    streamType: EVENT_STREAM_TYPE,
    writeRequest: writeConverseRequest,
    readAnswer: readConverseAnswer,
    decodeAnswer: decodeConverse,
    openStream: openConverseStream,
  },
  generate_content: {
    streamType: SSE_TYPE,
    writeRequest: writeGenerateRequest,
    readAnswer: readGenerateAnswer,
    decodeAnswer: decodeGenerated,
    openStream: openGenerateStream,
  },
};

import {
  type AnswerContext,
  AnswerFault,
  type CallerFormat,
  type ProviderFormat,
} from "../dialects/format.ts";
import type { Wire } from "../families/family.ts";
import { betasOf } from "../families/request-headers.ts";
import { type Json, type JsonObject, parseJson, printJson } from "../json/lossless.ts";
import { encodeUtf8 } from "../json/text.ts";
import type { AnswerEvent } from "../neutral/events.ts";
import { markSignatures, type Origin, withOwnSignatures } from "../origin/own-signatures.ts";
import type { ExchangeInput, ExchangePlan, ReadAnswer } from "./exchange.ts";
import { TranslatedStreamReader } from "./translated-reader.ts";

/** P2: the request in the provider's words, its answer in the caller's. */
export function planTranslation(
  input: ExchangeInput,
  wire: Wire,
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
    readAnswer: (answer) => {
      const read = readTranslated(answer, provider, caller, context, input.origin);
      if (read.reading.kind !== "usable" || !facts.stream) return read.reading;
      return { ...read.reading, body: streamOf(read.events, caller, context), streamed: true };
    },
  };
}

/** For servers that don't stream what was to be streamed. */
function streamOf(
  events: readonly AnswerEvent[],
  caller: CallerFormat,
  context: AnswerContext,
): Uint8Array<ArrayBuffer> {
  const encoder = caller.openStream(context);
  const told = events.filter(({ type }) => type !== "end").map((event) => encoder.encode(event));
  return encodeUtf8(told.join("") + encoder.encode({ type: "end" }));
}

function readTranslated(
  answer: Uint8Array,
  provider: ProviderFormat,
  caller: CallerFormat,
  context: AnswerContext,
  origin: Origin | undefined,
): { readonly reading: ReadAnswer; readonly events: readonly AnswerEvent[] } {
  const reading = provider.readAnswer(answer);
  const events: AnswerEvent[] = [];
  if (reading.kind !== "usable") return { reading, events };
  try {
    const emit = markSignatures((event) => events.push(event), origin);
    provider.decodeAnswer(parseJson(answer) as Json, emit, context);
    const body = encodeUtf8(printJson(caller.encodeAnswer(events, context)));
    return { reading: { ...reading, body }, events };
  } catch (error) {
    if (error instanceof AnswerFault) return { reading: { kind: "invalid", reason: error.message }, events };
    throw error;
  }
}

import type { AnswerReading } from "./answer.ts";
import type { FamilyName } from "../families/capabilities.ts";
import type { Json, JsonObject } from "../json/lossless.ts";
import type { AnswerEvent, EmitEvent } from "../neutral/events.ts";
import type { NeutralRequest } from "../neutral/request.ts";

/** What a request is written for. */
export interface Target {
  readonly family: FamilyName;
  /** The provider's name of the model. */
  readonly model: string;
  /** What the caller's `anthropic-beta` names; an API that takes them in the body has them from here. Absent: none. */
  readonly betas?: readonly string[];
}

/** Reads a provider's stream into events, wherever its chunks begin and end. */
export interface StreamDecoder {
  /** Data of the error event that ended the stream. No event follows it. */
  readonly failure: Uint8Array | undefined;
  /** Some event held data. */
  readonly sawData: boolean;
  /** Takes in a chunk, which its owner may use again afterwards. False once an event has outgrown its bound. */
  push(bytes: Uint8Array): boolean;
  /** The body is over. */
  finish(): void;
}

/** A request and answer format that providers speak. */
export interface ProviderFormat {
  /** `content-type` of its streams, without parameters. */
  readonly streamType: string;
  /** Throws a {@link TranslationFault} for what it can't say. */
  writeRequest(request: NeutralRequest, target: Target): Json;
  /** Judges an answer that does not stream. */
  readAnswer(body: Uint8Array): AnswerReading;
  /** Tells a usable answer as events, `end` included. */
  decodeAnswer(body: Json, emit: EmitEvent, context: AnswerContext): void;
  openStream(emit: EmitEvent, context: AnswerContext): StreamDecoder;
}

/** What a caller's answer needs beside its events. */
export interface AnswerContext {
  /** Unix time, seconds. */
  readonly createdAt: number;
  /** The provider's name of the model, where its answer names none. */
  readonly model: string;
  /** Id of the request, where the answer has no id of its own. */
  readonly requestId: string;
  /** The caller asked for the usage chunk (chat). */
  readonly usageAsked: boolean;
  /** The caller's body, of which some answers repeat parts. */
  readonly request: JsonObject;
}

/** Writes events as a stream's text. */
export interface StreamEncoder {
  /** Number of the event that would come next, in dialects that number them. */
  readonly sequence?: number;
  /** The text that an event gives, maybe empty. */
  encode(event: AnswerEvent): string;
}

/** A request and answer format that callers speak and that can be translated. */
export interface CallerFormat {
  /** Throws a {@link TranslationFault} for what is wrong in the caller's own API. */
  readRequest(body: Json): NeutralRequest;
  openStream(context: AnswerContext): StreamEncoder;
  /** The answer that does not stream. Throws an {@link AnswerFault} where there is none. */
  encodeAnswer(events: readonly AnswerEvent[], context: AnswerContext): Json;
}

/** A provider's answer that can't be told in the caller's dialect: class `invalid_response`. The message holds nothing of it. */
export class AnswerFault extends Error {
  override readonly name = "AnswerFault";
}

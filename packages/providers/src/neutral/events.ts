import type { TokenUsage } from "./usage.ts";
import type { Json } from "../json/lossless.ts";
import type { JsonNumber } from "../json/lossless.ts";

/** Why the model stopped. */
export type FinishReason = "stop" | "stop_sequence" | "length" | "tool_calls" | "refusal" | "pause";

/** Whose thinking it is, in OpenRouter's words: what is signed goes back to that vendor alone. */
export type ThinkingFormat = "anthropic-claude-v1" | "google-gemini-v1";

/** A place in one of the request's documents, which are counted from 0. */
export interface CitedPlace {
  readonly unit: "characters" | "pages" | "blocks";
  readonly document: JsonNumber;
  /** The first. */
  readonly start: JsonNumber;
  /** The one after the last. */
  readonly end: JsonNumber;
  /** What stands there. */
  readonly text: string;
  readonly title: string | undefined;
}

/**
 * What an answer says, in order, in no vendor's words: a stream as it comes, an answer that does not stream all at once. `choice`
 * counts answers asked for at once, from 0; `call` counts a choice's tool calls, from 0 (BH-19). Text may come in any pieces.
 */
export type AnswerEvent =
  | { readonly type: "start"; readonly id: string | undefined; readonly model: string | undefined }
  /** Nothing new yet; keeps the caller's connection alive. */
  | { readonly type: "ping" }
  | {
      readonly type: "text";
      readonly choice: number;
      readonly text: string;
      /** Of its tokens, as chat's `logprobs.content` has them. */
      readonly logprobs?: readonly Json[] | undefined;
    }
  /** Where the text of the block that is open, or that now begins, is from. */
  | {
      readonly type: "citation";
      readonly choice: number;
      /** As the provider told it. */
      readonly value: Json;
      readonly place?: CitedPlace | undefined;
    }
  /** What follows is no longer of the same block of text, and not what its citations are about. */
  | { readonly type: "text_end"; readonly choice: number }
  | { readonly type: "thinking"; readonly choice: number; readonly text: string }
  /** Signs, and thereby ends, the thinking before it. */
  | {
      readonly type: "signature";
      readonly choice: number;
      readonly signature: string;
      readonly format: ThinkingFormat;
    }
  /** Thinking that only its vendor can read. */
  | {
      readonly type: "redacted";
      readonly choice: number;
      readonly data: string;
      readonly format: ThinkingFormat;
    }
  | { readonly type: "refusal"; readonly choice: number; readonly text: string }
  | {
      readonly type: "tool_start";
      readonly choice: number;
      readonly call: number;
      readonly id: string;
      readonly name: string;
      /** Google's, which signs the call itself and must come back with it (BH-26). */
      readonly signature?: string | undefined;
    }
  /** A piece of the call's arguments as JSON text. */
  | { readonly type: "tool_args"; readonly choice: number; readonly call: number; readonly json: string }
  /** Arguments are complete; `{}` when no piece came (BH-20). */
  | { readonly type: "tool_end"; readonly choice: number; readonly call: number }
  /** Something that only the provider's dialect has, whole, as it came. */
  | { readonly type: "other"; readonly choice: number; readonly value: Json }
  | {
      readonly type: "finish";
      readonly choice: number;
      readonly reason: FinishReason;
      /** The provider's own word. */
      readonly native: string;
      readonly stopSequence?: string | undefined;
      /** Why the provider refused. */
      readonly explanation?: string | undefined;
    }
  /** Replaces what was told before. */
  | { readonly type: "usage"; readonly usage: TokenUsage }
  /** The provider has told its end: without it a stream was cut (BH-16). */
  | { readonly type: "end" };

/** Takes events in order. */
export type EmitEvent = (event: AnswerEvent) => void;

/** Whether an event is worth something to a caller, so that there is no other deployment after it (E6). */
export function commits(event: AnswerEvent): boolean {
  switch (event.type) {
    case "text":
    case "thinking":
    case "refusal":
      return event.text !== "";
    case "signature":
    case "redacted":
    case "tool_start":
    case "tool_args":
    case "tool_end":
    case "citation":
    case "other":
    case "finish":
      return true;
    case "start":
    case "ping":
    case "usage":
    case "text_end":
    case "end":
      return false;
  }
}

import type { TokenUsage } from "../neutral/usage.ts";

/**
 * How a stream ended. `complete`: it said so itself. `cut`: it broke off, held an error or an event beyond all bounds. `empty`: it
 * held nothing the caller could use (E6: `[DONE]` alone is a failure).
 */
export type StreamVerdict = "complete" | "cut" | "empty";

/** Follows one answer's stream in a dialect. */
export interface StreamReader {
  /** A useful token or a finish reason has been seen: from here on there is no other deployment (E6, invariant 5). */
  readonly committed: boolean;
  /** The stream has told its end. */
  readonly terminal: boolean;
  /** The dialect's closing event has been seen. */
  readonly done: boolean;
  /** Data of the error event that ended the stream. Nothing goes on from it. */
  readonly failure: Uint8Array | undefined;
  /** An event outgrew its bound; nothing goes on after it. */
  readonly overflowed: boolean;
  /** The model that the provider says it was. */
  readonly model: string | undefined;
  /** The last usage that the stream told. */
  readonly usage: TokenUsage | undefined;
  /** Ids under which the provider keeps the answer (P8); absent in dialects whose answers nobody keeps. */
  readonly keeps?: readonly string[];
  /** Number of the event that would come next, in dialects that number them. */
  readonly sequence?: number;

  /**
   * Takes in a chunk and appends what goes on to the caller, whole events only. Parts of `bytes` go on in place, so they must stay as
   * they are until written.
   */
  push(bytes: Uint8Array, out: Uint8Array[]): void;
  /** The body is over. Appends an event that only lacked its blank line, with it. */
  finish(out: Uint8Array[]): StreamVerdict;
  /**
   * What keeps the caller's connection alive while the provider is silent; undefined where the stream is over. Absent for streams that pass
   * through: their bytes are the provider's alone (P1).
   */
  pulse?(): Uint8Array | undefined;
}

/** An error of the gateway's own, or of a provider that gave no answer, in words for the caller (H3). */
export interface CallerError {
  /** The HTTP status that it has or would have: it gives the dialect's error type. */
  readonly status: number;
  /** A code of contracts section 3. */
  readonly code: string | null;
  readonly message: string;
  /** The field at fault. */
  readonly param?: string | null;
}

/** The error shapes of one caller dialect. All results are UTF-8 bytes. */
export interface Dialect {
  readonly name: "openai" | "anthropic";
  /** The body of an error of the gateway's own. */
  errorBody(error: CallerError, requestId: string): Uint8Array;
  /** The event that ends a stream which can't go on (E6); `sequence` is its number, in dialects that number events. */
  errorEvent(error: CallerError, requestId: string, sequence?: number): Uint8Array;
  /**
   * A provider's error body as this dialect has it, with its message, type, code kept (P5); as it is where it fits already. `headers`: the
   * answer's, flat, names lower-case.
   */
  providerErrorBody(
    status: number,
    body: Uint8Array,
    requestId: string,
    headers?: readonly string[],
  ): Uint8Array;
  /** The same for the data of an error event inside a stream. */
  providerErrorEvent(status: number, data: Uint8Array, requestId: string, sequence?: number): Uint8Array;
}

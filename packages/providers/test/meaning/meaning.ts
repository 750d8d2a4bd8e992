import { isFilled } from "./values.ts";

/** One thing that an answer says. Text that goes on is one piece. */
export type Piece =
  | { readonly kind: "text" | "thinking" | "refusal"; readonly text: string }
  /** Signs the thinking before it. */
  | { readonly kind: "signature" | "redacted"; readonly data: string }
  | {
      readonly kind: "call";
      /** Absent: the provider gave none, and any that is its own will do. */
      readonly id: string | undefined;
      readonly name: string;
      readonly input: unknown;
      /** Google's signature of the call. */
      readonly signature?: string | undefined;
    };

/** Why the answer ended. `cut`: it did not. */
export type Finish =
  | "stop"
  | "stop_sequence"
  | "length"
  | "tool_calls"
  /** The model said no in words of its own. */
  | "refusal"
  /** Others held back what it said, or was asked. */
  | "filtered"
  | "pause"
  | "cut";

/** Tokens; parts stand in their sums. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly cacheWritten: number;
  readonly reasoning: number;
}

/** One answer of those asked for at once. */
export interface Said {
  readonly pieces: readonly Piece[];
  readonly finish: Finish;
  readonly stopSequence?: string | undefined;
  /** Why a filter held back the answer. */
  readonly explanation?: string | undefined;
  /** What only the provider's own API has a word for, whole. */
  readonly extras: readonly unknown[];
}

/** What a body says, in nobody's words. */
export interface Meaning {
  readonly model: string | undefined;
  readonly said: readonly Said[];
  readonly usage: Usage | undefined;
}

/** Gathers pieces in their order; empty text says nothing. */
export class Gathering {
  readonly pieces: Piece[] = [];
  readonly extras: unknown[] = [];

  say(kind: "text" | "thinking" | "refusal", text: unknown): void {
    if (typeof text !== "string" || text === "") return;
    const last = this.pieces.at(-1);
    if (last?.kind === kind) this.pieces[this.pieces.length - 1] = { kind, text: last.text + text };
    else this.pieces.push({ kind, text });
  }

  seal(kind: "signature" | "redacted", data: unknown): void {
    if (typeof data === "string" && data !== "") this.pieces.push({ kind, data });
  }

  /** The same of a dialect whose thinking has a field of its own: a seal belongs to it, however late it comes. */
  sealThinking(kind: "signature" | "redacted", data: unknown): void {
    if (typeof data !== "string" || data === "") return;
    const last = this.pieces.findLastIndex((piece) => /^(?:thinking|signature|redacted)$/u.test(piece.kind));
    this.pieces.splice(last + 1, 0, { kind, data });
  }

  call(call: Omit<Extract<Piece, { readonly kind: "call" }>, "kind">): void {
    this.pieces.push({ kind: "call", ...call });
  }

  /** The calls, so far. */
  get calls(): number {
    return this.pieces.filter(({ kind }) => kind === "call").length;
  }

  extra(value: unknown): void {
    if (typeof value === "object" && isFilled(value)) this.extras.push(value);
  }
}

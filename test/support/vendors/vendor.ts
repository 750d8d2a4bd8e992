import type { Answer, RecordedCall } from "@switchyard/testkit";

/** One piece of a turn, as a vendor's API understands it. */
export type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "image"; readonly mediaType: string; readonly data: string }
  | { readonly kind: "call"; readonly id: string; readonly name: string; readonly args: unknown }
  | { readonly kind: "result"; readonly id: string; readonly text: string }
  | { readonly kind: "thinking"; readonly text: string; readonly signature: string | undefined };

export interface Turn {
  readonly role: "user" | "assistant";
  readonly parts: readonly Part[];
}

/** What a vendor understood of a request that its API would take. */
export interface Asked {
  readonly system: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly string[];
  readonly schema: unknown;
  /** The model was asked to think. */
  readonly thinks: boolean;
}

export interface SaidCall {
  readonly id: string;
  readonly name: string;
  /** JSON text; it is streamed in two pieces. */
  readonly args: string;
}

/** What the model behind the API says, before the vendor words it. */
export interface Said {
  readonly thinking?: string;
  readonly text?: string;
  readonly calls?: readonly SaidCall[];
  /** A stream stops here and stays open; its text has been sent. */
  readonly hangs?: boolean;
}

export type Mistake = "rate_limited" | "overloaded" | "invalid_request" | "context_length";

/** One vendor's API: it takes only what the real one takes, and answers in its own wire format. */
export interface Vendor {
  /** Whether thinking comes signed, and a call that thinking led to must come back with it. */
  readonly signs: boolean;
  /** A 429 says how long to wait, in `Retry-After`. */
  readonly tellsWait: boolean;
  /** Reads a request; throws {@link Refused} where the real API would refuse it. */
  read(call: RecordedCall): Asked;
  /** The answer, streamed where the call asks for that. */
  say(said: Said, call: RecordedCall): Answer;
  fail(mistake: Mistake, message?: string): Answer;
}

/** A request that the real API would answer with 400. */
export class Refused extends Error {}

/** What each answer uses: tokens as OpenAI counts them, cached ones in `input`, thinking in `output`. */
export const USED = { input: 20, cached: 8, output: 9, reasoning: 4 } as const;

/** What vendors sign thinking with. */
export const SIGNATURE = "c2lnbmVkLWJ5LXRoZS12ZW5kb3I=";

export const MESSAGES: Readonly<Record<Mistake, string>> = {
  rate_limited: "Too many requests, slow down.",
  overloaded: "The model is overloaded. Please try again later.",
  invalid_request: "This field is not what it must be.",
  context_length: "The prompt is too long.",
};

export type Fields = Readonly<Record<string, unknown>>;

export function need(good: unknown, message: string): asserts good {
  if (good === undefined || good === null || good === false) throw new Refused(message);
}

export function fieldsOf(value: unknown, path: string): Fields {
  need(typeof value === "object" && value !== null && !Array.isArray(value), `${path}: must be an object`);
  return value as Fields;
}

/** An object that has no other keys than these. */
export function only(value: unknown, path: string, keys: string): Fields {
  const fields = fieldsOf(value, path);
  const known = keys.split(" ");
  for (const key of Object.keys(fields)) need(known.includes(key), `${path}: unknown field '${key}'`);
  return fields;
}

export function listOf(value: unknown, path: string): readonly unknown[] {
  need(Array.isArray(value), `${path}: must be an array`);
  return value as readonly unknown[];
}

export function textOf(value: unknown, path: string): string {
  need(typeof value === "string" && value !== "", `${path}: must be a text that is not empty`);
  return value;
}

/** Laws that every API has: a user begins, roles alternate, each call has its result in the turn after it, and no other. */
export function needConversation(turns: readonly Turn[]): readonly Turn[] {
  need(turns[0]?.role === "user", "the first turn must be the user's");
  need(turns.at(-1)?.role === "user", "the last turn must be the user's");
  for (const [place, turn] of turns.entries()) {
    need(turn.parts.length > 0, `turn ${place} is empty`);
    need(place === 0 || turns[place - 1]?.role !== turn.role, `turn ${place}: roles must alternate`);
    const calls = idsOf(turns[place - 1], "call");
    const results = idsOf(turn, "result");
    const same = calls.length === results.length && calls.every((id) => results.includes(id));
    need(same, `turn ${place}: results ${results.join()} do not answer the calls ${calls.join()}`);
  }
  return turns;
}

function idsOf(turn: Turn | undefined, kind: "call" | "result"): string[] {
  return (turn?.parts ?? []).flatMap((part) => (part.kind === kind ? [part.id] : []));
}

/** Two pieces of one text, cut where no character is. */
export function halves(text: string): readonly [string, string] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}

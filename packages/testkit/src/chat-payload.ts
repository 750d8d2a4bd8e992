import { seededRandom } from "./determinism.ts";

export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** A chat completion request body; further fields are the caller's. */
export interface ChatPayload extends Readonly<Record<string, unknown>> {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
}

export interface ChatPayloadOptions {
  readonly model?: string;
  /** Same seed, same bytes. Default 1. */
  readonly seed?: number;
  /** User turns; assistant turns stand between them. Default 1. */
  readonly turns?: number;
  /** Words in each message. Default 12. */
  readonly words?: number;
  readonly system?: string;
  readonly stream?: boolean;
  /** Further fields of the request, e.g. `max_tokens`, `tools`. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

const WORDS = "river stone lamp paper north quiet seven bread window garden copper cloud letter winter".split(
  " ",
);

/** A made-up conversation that is the same on every machine. */
export function chatPayload(options: ChatPayloadOptions = {}): ChatPayload {
  const random = seededRandom(options.seed ?? 1);
  const { turns = 1, words = 12 } = options;
  const messages: ChatMessage[] = [];
  if (options.system !== undefined) messages.push({ role: "system", content: options.system });
  for (let turn = 0; turn < turns * 2 - 1; turn += 1) {
    const picked = Array.from({ length: words }, () => WORDS[Math.floor(random() * WORDS.length)] ?? "river");
    messages.push({ role: turn % 2 === 0 ? "user" : "assistant", content: picked.join(" ") });
  }
  return {
    model: options.model ?? "g",
    messages,
    ...(options.stream !== undefined && { stream: options.stream }),
    ...options.extra,
  };
}

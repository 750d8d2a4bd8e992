import { joined } from "../json/splice.ts";
import { decodeUtf8 } from "../json/text.ts";
import { SSE_TYPE, SseFramer } from "../sse/framer.ts";
import { anthropicUsage, openAiUsage } from "./usage.ts";
import type { TokenUsage } from "../neutral/usage.ts";

/** As much of an answer that does not stream is kept to find its usage in, bytes. */
const MOST_KEPT = 1024 * 1024;
const NOTE = /"usage"|"model"/u;

/**
 * Looks on as an answer of no known API passes, for what it used: in a `usage` beside `model` at the top of a JSON body, or of the data of
 * an event stream, where the last counts. Holds nothing up, and finds nothing where nothing can be understood.
 */
export class AnswerWatch {
  usage: TokenUsage | undefined;
  model: string | undefined;
  readonly #framer: SseFramer | undefined;
  #pieces: Uint8Array[] = [];
  #size = 0;

  /** `type`: the content type of the answer, without parameters. */
  constructor(type: string | undefined) {
    if (type === SSE_TYPE) {
      this.#framer = new SseFramer((event) => {
        if (event.dataLines > 0) this.#read(event.joinedData());
      });
    } else if (type === undefined || !/\bjson$/u.test(type)) this.#size = Number.POSITIVE_INFINITY;
  }

  push(bytes: Uint8Array): void {
    if (this.#framer !== undefined) {
      this.#framer.push(bytes);
      return;
    }
    this.#size += bytes.length;
    if (this.#size <= MOST_KEPT) this.#pieces.push(bytes);
    else this.#pieces = [];
  }

  /** The answer is complete. */
  finish(): void {
    if (this.#framer !== undefined) this.#framer.finish();
    else if (this.#pieces.length > 0) this.#read(joined(this.#pieces));
    this.#pieces = [];
  }

  #read(bytes: Uint8Array): void {
    const text = decodeUtf8(bytes, 0, bytes.length);
    if (!NOTE.test(text)) return;
    const { usage, model } = fieldsOf(text);
    this.usage = readUsage(usage) ?? this.usage;
    if (typeof model === "string") this.model = model;
  }
}

function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}

/** Anthropic's says what its cache did beside the input, OpenAI's within. */
function readUsage(usage: unknown): TokenUsage | undefined {
  if (typeof usage !== "object" || usage === null) return undefined;
  const isAnthropic = "cache_read_input_tokens" in usage || "cache_creation_input_tokens" in usage;
  return isAnthropic ? anthropicUsage(usage) : openAiUsage(usage);
}

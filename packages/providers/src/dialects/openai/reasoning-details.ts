import type { Json } from "../../json/lossless.ts";
import type { ThinkingFormat } from "../../neutral/events.ts";

interface Thought {
  readonly type: "reasoning.text" | "reasoning.encrypted";
  readonly [key: string]: Json | undefined;
}

/**
 * One answer's thinking as OpenRouter's `reasoning_details`, by which clients give it back to who signed it. Only whole thoughts: clients
 * keep the last piece of a list that they don't know, or join what must not be joined, and half a thought is refused.
 */
export class ReasoningDetails {
  readonly #thoughts: Thought[] = [];
  #open: { readonly format: ThinkingFormat; text: string } | undefined;

  think(text: string, format: ThinkingFormat): void {
    this.#open ??= { format, text: "" };
    this.#open.text += text;
  }

  /** Ends the thought before it. */
  sign(signature: string, format: ThinkingFormat): void {
    const { text } = this.#open ?? { text: "" };
    this.#open = undefined;
    this.#thoughts.push({ type: "reasoning.text", text, format, index: this.#thoughts.length, signature });
  }

  redact(data: string, format: ThinkingFormat): void {
    this.#endOpen();
    this.#thoughts.push({ type: "reasoning.encrypted", data, format, index: this.#thoughts.length });
  }

  /** All thoughts, and none of them again; undefined where there are none. */
  take(): readonly Json[] | undefined {
    this.#endOpen();
    return this.#thoughts.length > 0 ? this.#thoughts.splice(0) : undefined;
  }

  #endOpen(): void {
    if (this.#open === undefined) return;
    const { text, format } = this.#open;
    this.#open = undefined;
    this.#thoughts.push({ type: "reasoning.text", text, format, index: this.#thoughts.length });
  }
}

import type { JsonObject } from "../../json/lossless.ts";
import type { EventWriter } from "./event-writer.ts";

/** Thinking as an item of the output: what can be read of it stands in its summary. */
export class ReasoningItem {
  readonly index: number;
  /** Brings the thinking back to who signed it. */
  encrypted: string | undefined;
  readonly #events: EventWriter;
  readonly #id: string;
  #text: string | undefined;
  #closed = false;

  constructor(events: EventWriter, index: number, base: string) {
    this.#events = events;
    this.index = index;
    this.#id = `rs_${base}_${index}`;
  }

  open(): string {
    const item = this.item("in_progress");
    return this.#events.write("response.output_item.added", { output_index: this.index, item });
  }

  append(text: string): string {
    let opened = "";
    if (this.#text === undefined) {
      this.#text = "";
      opened = this.#events.write("response.reasoning_summary_part.added", {
        ...this.#place(),
        part: partOf(""),
      });
    }
    this.#text += text;
    return (
      opened + this.#events.write("response.reasoning_summary_text.delta", { ...this.#place(), delta: text })
    );
  }

  close(): string {
    const text = this.#text;
    this.#closed = true;
    if (text === undefined) return "";
    const place = this.#place();
    return (
      this.#events.write("response.reasoning_summary_text.done", { ...place, text }) +
      this.#events.write("response.reasoning_summary_part.done", { ...place, part: partOf(text) })
    );
  }

  item(status: string): JsonObject {
    return {
      id: this.#id,
      type: "reasoning",
      status,
      summary: this.#closed && this.#text !== undefined ? [partOf(this.#text)] : [],
      encrypted_content: this.encrypted,
    };
  }

  #place(): JsonObject {
    return { item_id: this.#id, output_index: this.index, summary_index: 0 };
  }
}

function partOf(text: string): JsonObject {
  return { type: "summary_text", text };
}

import type { Json, JsonObject } from "../../json/lossless.ts";
import type { ThinkingFormat } from "../../neutral/events.ts";

/**
 * One answer's thinking as OpenRouter's `reasoning_details`, by which clients give it back to who signed it. Thoughts are whole: clients
 * keep the last piece of a list that they don't know, or join what must not be joined, and half a thought is refused. What nobody signed
 * nobody takes back, so it only stands in `reasoning_content`.
 */
export class ReasoningDetails {
  readonly #thoughts: Json[] = [];
  #text = "";

  think(text: string): void {
    this.#text += text;
  }

  /** Ends the thought before it. */
  sign(signature: string, format: ThinkingFormat): void {
    this.#add({ type: "reasoning.text", text: this.#text, format, signature });
  }

  redact(data: string, format: ThinkingFormat): void {
    this.#add({ type: "reasoning.encrypted", data, format });
  }

  /** All thoughts, and none of them again; undefined where there are none. */
  take(): readonly Json[] | undefined {
    return this.#thoughts.length > 0 ? this.#thoughts.splice(0) : undefined;
  }

  #add(thought: JsonObject): void {
    this.#thoughts.push({ ...thought, index: this.#thoughts.length });
    this.#text = "";
  }
}

import { isJsonList, isJsonObject, type Json, type JsonObject, objectOf } from "../../json/lossless.ts";
import type { EmitEvent } from "../../neutral/events.ts";
import type { StreamDecoder } from "../../translate/format.ts";
import { SseDecoder, type SseHandler } from "../../translate/sse-decoder.ts";
import { openAiUsage } from "../usage.ts";
import { ChoiceReader } from "./choice-reader.ts";

/** Tells an answer that does not stream. */
export function decodeCompletion(body: Json, emit: EmitEvent): void {
  if (!isJsonObject(body)) return;
  const handler = new ChunkHandler(emit);
  handler.take(body);
  handler.onDone();
}

/** Reads a stream of chat completion chunks. */
export function openChatStream(emit: EmitEvent): StreamDecoder {
  return new SseDecoder(new ChunkHandler(emit));
}

class ChunkHandler implements SseHandler {
  readonly #emit: EmitEvent;
  readonly #choices = new Map<number, ChoiceReader>();
  #started = false;
  #ended = false;

  constructor(emit: EmitEvent) {
    this.#emit = emit;
  }

  isError(data: JsonObject): boolean {
    const error = data["error"];
    const says = isJsonObject(error) ? Object.keys(error).length > 0 : Boolean(error);
    return says || data["object"] === "error";
  }

  onComment(): void {
    this.#emit({ type: "ping" });
  }

  /** What did not say why it stopped, stopped by itself: the stream says that it is whole. */
  onDone(): void {
    for (const choice of this.#choices.values()) choice.finish(undefined, {});
    this.#end();
  }

  /** Some servers send no `[DONE]`: reasons to stop are an end as well. */
  onEnd(): void {
    const choices = [...this.#choices.values()];
    if (choices.length > 0 && choices.every(({ finished }) => finished)) this.#end();
  }

  take(data: JsonObject): void {
    const choices = isJsonList(data["choices"]) ? data["choices"] : [];
    const model = data["model"];
    if (!this.#started && (choices.length > 0 || (typeof model === "string" && model !== ""))) {
      this.#started = true;
      const id = data["id"];
      this.#emit({
        type: "start",
        id: typeof id === "string" && id !== "" ? id : undefined,
        model: typeof model === "string" && model !== "" ? model : undefined,
      });
    }
    // Groq tells it in a member of its own where nobody asked for it.
    this.#tellUsage(data["usage"] ?? objectOf(data["x_groq"])["usage"]);
    for (const [place, value] of choices.entries()) {
      if (!isJsonObject(value)) continue;
      const index = value["index"];
      const choice = this.#choiceAt(typeof index === "number" ? index : place);
      this.#tellUsage(value["usage"]);
      const said = value["delta"] ?? value["message"];
      if (isJsonObject(said)) choice.take(said);
      const reason = value["finish_reason"];
      if (typeof reason === "string" && reason !== "") choice.finish(reason, value);
    }
  }

  #choiceAt(index: number): ChoiceReader {
    let choice = this.#choices.get(index);
    if (choice === undefined) {
      choice = new ChoiceReader(index, this.#emit);
      this.#choices.set(index, choice);
    }
    return choice;
  }

  #tellUsage(value: Json | undefined): void {
    const usage = isJsonObject(value) ? openAiUsage(value) : undefined;
    if (usage !== undefined) this.#emit({ type: "usage", usage });
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#emit({ type: "end" });
  }
}

import { isJsonList, isJsonObject, type Json, type JsonObject, objectOf } from "../../json/lossless.ts";
import type { EmitEvent } from "../../neutral/events.ts";
import { callIdOf } from "../../translate/call-id.ts";
import { type AnswerContext, AnswerFault, type StreamDecoder } from "../format.ts";
import { SseDecoder, type SseHandler } from "../sse-decoder.ts";
import { openAiUsage } from "../usage.ts";
import { ChoiceReader } from "./choice-reader.ts";
import { hasFound } from "./content-filter.ts";

const SOURCES: readonly string[] = ["citations", "search_results"];

/** Tells an answer that does not stream. */
export function decodeCompletion(body: Json, emit: EmitEvent, context: AnswerContext): void {
  if (!isJsonObject(body)) return;
  const handler = new ChunkHandler(emit, context);
  handler.take(body);
  handler.onDone();
  if (!handler.ended) throw new AnswerFault("the server broke off");
}

/** Reads a stream of chat completion chunks. */
export function openChatStream(emit: EmitEvent, context: AnswerContext): StreamDecoder {
  return new SseDecoder(new ChunkHandler(emit, context));
}

class ChunkHandler implements SseHandler {
  readonly #emit: EmitEvent;
  readonly #choices = new Map<number, ChoiceReader>();
  /** What stands beside the choices, the newest of each, until a choice ends with which it can be told: by itself it says nothing yet (E6). */
  #beside: JsonObject = {};
  #id: string;
  ended = false;
  #started = false;

  constructor(emit: EmitEvent, context: AnswerContext) {
    this.#emit = emit;
    this.#id = context.requestId;
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
    if (this.#areFinished()) this.#tellBeside();
    if (![...this.#choices.values()].some(({ failed }) => failed)) this.#end();
  }

  /** Some servers send no `[DONE]`: reasons to stop are an end as well. */
  onEnd(): void {
    if (this.#areFinished()) this.#end();
  }

  take(data: JsonObject): void {
    const choices = isJsonList(data["choices"]) ? data["choices"] : [];
    const model = textOf(data["model"]);
    if (!this.#started && (choices.length > 0 || model !== undefined)) {
      this.#started = true;
      const id = textOf(data["id"]);
      this.#id = id ?? this.#id;
      this.#emit({ type: "start", id, model });
    }
    this.#takeBeside(data);
    // Groq tells it in a member of its own where nobody asked for it.
    this.#tellUsage(data["usage"] ?? objectOf(data["x_groq"])["usage"]);
    for (const [place, value] of choices.entries()) {
      if (!isJsonObject(value)) continue;
      const index = value["index"];
      const choice = this.#choiceAt(typeof index === "number" ? index : place);
      this.#tellUsage(value["usage"]);
      const said = value["delta"] ?? value["message"];
      if (isJsonObject(said)) choice.take(said);
      choice.takeFiltered(value["content_filter_results"]);
      const reason = textOf(value["finish_reason"]);
      if (reason === undefined) continue;
      this.#tellBeside();
      choice.finish(reason, value);
    }
  }

  #areFinished(): boolean {
    const choices = [...this.#choices.values()];
    return choices.length > 0 && choices.every(({ finished }) => finished);
  }

  #choiceAt(index: number): ChoiceReader {
    let choice = this.#choices.get(index);
    if (choice === undefined) {
      choice = new ChoiceReader(index, this.#emit, (call) => callIdOf(this.#id, index, call));
      this.#choices.set(index, choice);
    }
    return choice;
  }

  /** What a filter found in the prompt (Azure), and the sources of an answer (Perplexity, xAI), which come with every chunk. */
  #takeBeside(data: JsonObject): void {
    const found = data["prompt_filter_results"];
    if (hasFound(found)) this.#beside = { ...this.#beside, prompt_filter_results: found };
    for (const key of SOURCES) {
      const value = data[key];
      if (isJsonList(value) && value.length > 0) this.#beside = { ...this.#beside, [key]: value };
    }
  }

  #tellBeside(): void {
    if (Object.keys(this.#beside).length > 0) this.#emit({ type: "other", choice: 0, value: this.#beside });
    this.#beside = {};
  }

  #tellUsage(value: Json | undefined): void {
    const usage = isJsonObject(value) ? openAiUsage(value) : undefined;
    if (usage !== undefined) this.#emit({ type: "usage", usage });
  }

  #end(): void {
    if (this.ended) return;
    this.ended = true;
    this.#emit({ type: "end" });
  }
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

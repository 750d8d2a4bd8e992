import type { Json, JsonObject } from "../../json/lossless.ts";
import type { EventWriter } from "./event-writer.ts";

type PartKind = "text" | "refusal";

/** One message of the output: its parts, and the events that tell them. */
export class MessageItem {
  readonly index: number;
  readonly #events: EventWriter;
  readonly #id: string;
  readonly #parts: Json[] = [];
  #open: { readonly kind: PartKind; text: string; readonly annotations: Json[] } | undefined;

  constructor(events: EventWriter, index: number, base: string) {
    this.#events = events;
    this.index = index;
    this.#id = `msg_${base}_${index}`;
  }

  open(): string {
    const item = this.item("in_progress");
    return this.#events.write("response.output_item.added", { output_index: this.index, item });
  }

  append(kind: PartKind, text: string): string {
    const opened = this.#open?.kind === kind ? "" : this.close() + this.#openPart(kind);
    const part = this.#open as { text: string };
    part.text += text;
    const logprobs = kind === "text" ? [] : undefined;
    const delta = this.#events.write(`response.${nameOf(kind)}.delta`, {
      ...this.#place(),
      delta: text,
      logprobs,
    });
    return opened + delta;
  }

  /** What the text so far is from; undefined where no text is open that it could be said of. */
  annotate(annotation: Json): string | undefined {
    if (this.#open?.kind !== "text") return undefined;
    const { annotations } = this.#open;
    annotations.push(annotation);
    return this.#events.write("response.output_text.annotation.added", {
      ...this.#place(),
      annotation_index: annotations.length - 1,
      annotation,
    });
  }

  /** Ends the part that is open; the item itself ends with its {@link item}. */
  close(): string {
    const open = this.#open;
    if (open === undefined) return "";
    const { kind, text, annotations } = open;
    const part = partOf(kind, text, annotations);
    const said = kind === "text" ? { text, logprobs: [] } : { refusal: text };
    const place = this.#place();
    const ended =
      this.#events.write(`response.${nameOf(kind)}.done`, { ...place, ...said }) +
      this.#events.write("response.content_part.done", { ...place, part });
    this.#parts.push(part);
    this.#open = undefined;
    return ended;
  }

  item(status: string): JsonObject {
    return { id: this.#id, type: "message", status, role: "assistant", content: this.#parts.slice() };
  }

  #openPart(kind: PartKind): string {
    this.#open = { kind, text: "", annotations: [] };
    return this.#events.write("response.content_part.added", {
      ...this.#place(),
      part: partOf(kind, "", []),
    });
  }

  #place(): JsonObject {
    return { item_id: this.#id, output_index: this.index, content_index: this.#parts.length };
  }
}

function nameOf(kind: PartKind): string {
  return kind === "text" ? "output_text" : "refusal";
}

function partOf(kind: PartKind, text: string, annotations: readonly Json[]): JsonObject {
  return kind === "text"
    ? { type: "output_text", annotations, logprobs: [], text }
    : { type: "refusal", refusal: text };
}

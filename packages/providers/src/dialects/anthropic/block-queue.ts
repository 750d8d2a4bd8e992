import { JsonProgress } from "../../json/completeness.ts";
import { type JsonObject, printJson } from "../../json/lossless.ts";

/** Kinds of block that an answer is written in. */
export type BlockKind = "text" | "thinking" | "redacted_thinking" | "tool_use";

interface QueuedBlock {
  readonly kind: BlockKind;
  /** Of a tool call, its number. */
  readonly call: number | undefined;
  readonly start: JsonObject;
  readonly deltas: JsonObject[];
  readonly progress: JsonProgress;
  complete: boolean;
}

/**
 * The blocks of one answer's stream. This grammar has one open block at a time, where others let tool calls grow side by side: only the
 * first unfinished block streams, those after it wait. A call is finished when its arguments are whole; text and thinking, when something
 * else follows.
 */
export class BlockQueue {
  readonly #blocks: QueuedBlock[] = [];
  #index = 0;
  #headOpen = false;

  /** The kind of the block that was begun last, unless it is over. */
  get lastKind(): BlockKind | undefined {
    const last = this.#blocks.at(-1);
    return last?.complete === true ? undefined : last?.kind;
  }

  /** Begins a block after all others; what it gives to write. */
  begin(kind: BlockKind, start: JsonObject, call?: number): string {
    const last = this.#blocks.at(-1);
    if (last !== undefined && last.kind !== "tool_use") last.complete = true;
    this.#blocks.push({ kind, call, start, deltas: [], progress: new JsonProgress(), complete: false });
    return this.#advance();
  }

  /** A delta of the block that was begun last. */
  append(delta: JsonObject): string {
    this.#blocks.at(-1)?.deltas.push(delta);
    return this.#advance();
  }

  /** A piece of a call's arguments. */
  appendInput(call: number, json: string): string {
    const block = this.#blocks.find((candidate) => candidate.call === call);
    if (block === undefined) return "";
    block.deltas.push({ type: "input_json_delta", partial_json: json });
    block.progress.push(json);
    return this.#advance();
  }

  /** Nothing more comes for the block that was begun last, or for that call. */
  end(call?: number): string {
    const block =
      call === undefined ? this.#blocks.at(-1) : this.#blocks.find((candidate) => candidate.call === call);
    if (block !== undefined) block.complete = true;
    return this.#advance();
  }

  /** Nothing more comes at all. */
  endAll(): string {
    for (const block of this.#blocks) block.complete = true;
    return this.#advance();
  }

  #advance(): string {
    let text = "";
    for (;;) {
      const head = this.#blocks[0];
      if (head === undefined) return text;
      if (!this.#headOpen) {
        this.#headOpen = true;
        text += event("content_block_start", { index: this.#index, content_block: head.start });
      }
      for (const delta of head.deltas) text += event("content_block_delta", { index: this.#index, delta });
      head.deltas.length = 0;
      const isFollowed = this.#blocks.length > 1 && head.progress.complete;
      if (!head.complete && !isFollowed) return text;
      text += event("content_block_stop", { index: this.#index++ });
      this.#blocks.shift();
      this.#headOpen = false;
    }
  }
}

/** One event of Anthropic's streams. */
export function event(type: string, fields: JsonObject): string {
  return `event: ${type}\ndata: ${printJson({ type, ...fields })}\n\n`;
}

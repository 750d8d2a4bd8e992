import { JsonProgress } from "../../json/completeness.ts";
import type { Json, JsonObject } from "../../json/lossless.ts";
import { writeGoogle } from "../openai/google-signature.ts";
import type { EventWriter } from "./event-writer.ts";
import { MessageItem } from "./message-item.ts";
import type { NamedFunction, Namespaces } from "./namespaces.ts";
import { ReasoningItem } from "./reasoning-item.ts";

interface OpenCall {
  readonly index: number;
  readonly id: string;
  readonly callId: string;
  readonly called: NamedFunction;
  readonly signature: string | undefined;
  json: string;
  readonly progress: JsonProgress;
}

/** How an item ended. */
export type ItemStatus = "completed" | "incomplete";

/** The output of one response, item by item: each method gives the events that say it. */
export class OutputItems {
  /** Items as they are at their end, by `output_index`. */
  readonly done: Json[] = [];
  readonly #events: EventWriter;
  readonly #base: string;
  readonly #namespaces: Namespaces;
  readonly #calls = new Map<number, OpenCall>();
  #count = 0;
  #message: MessageItem | undefined;
  #reasoning: ReasoningItem | undefined;

  /** `base` makes the items' ids unique. */
  constructor(events: EventWriter, base: string, namespaces: Namespaces) {
    this.#events = events;
    this.#base = base;
    this.#namespaces = namespaces;
  }

  say(kind: "text" | "refusal", text: string): string {
    const before = this.#endReasoning("completed");
    let opened = "";
    if (this.#message === undefined) {
      this.#message = new MessageItem(this.#events, this.#next(), this.#base);
      opened = this.#message.open();
    }
    return before + opened + this.#message.append(kind, text);
  }

  /** What the text that is being said is from; undefined where none is. */
  annotate(annotation: Json): string | undefined {
    return this.#message?.annotate(annotation);
  }

  think(text: string): string {
    return this.#openReasoning() + (this.#reasoning as ReasoningItem).append(text);
  }

  /** Ends the thinking; `encrypted` is what brings it back to who signed it. */
  endThinking(encrypted: string | undefined): string {
    const opened = this.#openReasoning();
    (this.#reasoning as ReasoningItem).encrypted = encrypted;
    return opened + this.#endReasoning("completed");
  }

  startCall(
    call: number,
    { id: callId, name, signature }: { id: string; name: string; signature?: string | undefined },
  ): string {
    const before = this.#endReasoning("completed") + this.#endMessage("completed") + this.#endWhole();
    const index = this.#next();
    const id = `fc_${this.#base}_${index}`;
    const called = this.#namespaces.find(name);
    const open = { index, id, callId, called, signature, json: "", progress: new JsonProgress() };
    this.#calls.set(call, open);
    const item = callItem(open, "in_progress");
    return before + this.#events.write("response.output_item.added", { output_index: index, item });
  }

  appendCall(call: number, json: string): string {
    const open = this.#calls.get(call);
    if (open === undefined || json === "") return "";
    open.json += json;
    open.progress.push(json);
    return this.#events.write("response.function_call_arguments.delta", {
      item_id: open.id,
      output_index: open.index,
      delta: json,
    });
  }

  /** BH-20: a call without arguments has an empty object. */
  endCall(call: number, status: ItemStatus = "completed"): string {
    const open = this.#calls.get(call);
    if (open === undefined) return "";
    const filled = open.json.trim() === "" && status === "completed" ? this.appendCall(call, "{}") : "";
    this.#calls.delete(call);
    const { id, index, called, json } = open;
    const told = this.#events.write("response.function_call_arguments.done", {
      item_id: id,
      output_index: index,
      name: called.name,
      arguments: json,
    });
    return filled + told + this.#end(index, callItem(open, status));
  }

  /** The answer is over: whatever is open ends with it. */
  endAll(status: ItemStatus): string {
    let text = this.#endReasoning(status) + this.#endMessage(status);
    for (const call of this.#calls.keys()) text += this.endCall(call, status);
    return text;
  }

  /** Calls whose arguments are whole end before the next begins, though other APIs end all together: clients can do them. */
  #endWhole(): string {
    let text = "";
    for (const [call, { progress }] of this.#calls) if (progress.complete) text += this.endCall(call);
    return text;
  }

  #next(): number {
    return this.#count++;
  }

  #openReasoning(): string {
    if (this.#reasoning !== undefined) return "";
    const before = this.#endMessage("completed");
    this.#reasoning = new ReasoningItem(this.#events, this.#next(), this.#base);
    return before + this.#reasoning.open();
  }

  #endReasoning(status: ItemStatus): string {
    const open = this.#reasoning;
    if (open === undefined) return "";
    this.#reasoning = undefined;
    return open.close() + this.#end(open.index, open.item(status));
  }

  #endMessage(status: ItemStatus): string {
    const open = this.#message;
    if (open === undefined) return "";
    this.#message = undefined;
    return open.close() + this.#end(open.index, open.item(status));
  }

  #end(index: number, item: JsonObject): string {
    this.done[index] = item;
    return this.#events.write("response.output_item.done", { output_index: index, item });
  }
}

/** Google's signature of a call stands where its own compatible chat has it (BH-26). */
function callItem({ id, callId, called, signature, json }: OpenCall, status: string): JsonObject {
  return {
    id,
    type: "function_call",
    status,
    arguments: json,
    call_id: callId,
    name: called.name,
    namespace: called.namespace,
    extra_content: writeGoogle(signature),
  };
}

import type { CallerDialect } from "./losses.ts";
import { type Fields, fields, list, parse, parseOrText, sseEvents, text } from "./values.ts";

/** What is wrong with the order of a stream's events, one line each. `cut`: it may end anywhere, but not with an end. */
export function grammarFaults(dialect: CallerDialect, stream: string, cut: boolean): string[] {
  const faults: string[] = [];
  const say = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(fault);
  };
  const events = sseEvents(stream);
  if (dialect === "chat") chat(events, cut, say);
  else {
    const named = events.map(({ name, data }) => ({ name, event: fields(parse(data)) }));
    for (const { name, event } of named)
      say(name === event["type"], `event ${name} is ${text(event["type"])}`);
    const told = named.map(({ event }) => event);
    if (dialect === "messages") messages(told, cut, say);
    else responses(told, cut, say);
  }
  return faults;
}

type Say = (holds: boolean, fault: string) => void;

function chat(
  events: readonly { readonly name: string; readonly data: string }[],
  cut: boolean,
  say: Say,
): void {
  const dones = events.filter(({ data }) => data === "[DONE]").length;
  say(dones === (cut ? 0 : 1), `[DONE] ${dones} times`);
  say(cut || events.at(-1)?.data === "[DONE]", "[DONE] is not last");
  say(
    events.every(({ name }) => name === ""),
    "an event has a name",
  );
  const chunks = events.filter(({ data }) => data !== "[DONE]").map(({ data }) => fields(parse(data)));
  for (const key of ["id", "model", "created", "object"])
    say(new Set(chunks.map((chunk) => chunk[key])).size <= 1, `${key} changes`);
  say(
    chunks.every((chunk) => chunk["object"] === "chat.completion.chunk"),
    "a chunk is none",
  );
  const choices = new Map<unknown, ChatChoice>();
  for (const [place, chunk] of chunks.entries()) {
    const told = list(chunk["choices"]);
    say(told.length > 0 || (place === chunks.length - 1 && "usage" in chunk), `chunk ${place} says nothing`);
    say(told.length === 0 || (chunk["usage"] ?? null) === null, "usage beside a choice");
    for (const choice of told) chatChoice(choices, fields(choice), say);
  }
  for (const { finished } of choices.values()) say(cut || finished, "a choice has no finish_reason");
}

interface ChatChoice {
  finished: boolean;
  calls: number;
}

function chatChoice(choices: Map<unknown, ChatChoice>, choice: Fields, say: Say): void {
  const delta = fields(choice["delta"]);
  let state = choices.get(choice["index"]);
  say((state === undefined) === (delta["role"] === "assistant"), "the role is not in the first delta alone");
  if (state === undefined) choices.set(choice["index"], (state = { finished: false, calls: 0 }));
  say(!state.finished, "a delta after finish_reason");
  say("finish_reason" in choice, "no finish_reason, not even null");
  if (typeof choice["finish_reason"] === "string") {
    state.finished = true;
    say(
      /^(?:stop|length|tool_calls|content_filter)$/u.test(choice["finish_reason"]),
      "an unknown finish_reason",
    );
    say(Object.keys(delta).length === 0, "a delta beside finish_reason");
  }
  for (const value of list(delta["tool_calls"])) {
    const call = fields(value);
    const called = fields(call["function"]);
    const opens = call["index"] === state.calls;
    if (opens) state.calls++;
    say(opens || (typeof call["index"] === "number" && call["index"] < state.calls), "an index is left out");
    say(
      opens === (text(call["id"]) !== "" && text(called["name"]) !== ""),
      "id and name are not in the first piece alone",
    );
    say(opens === (call["type"] === "function"), "type is not in the first piece alone");
    say(typeof called["arguments"] === "string", "arguments are no text");
  }
}

/** What a block begins with, and the deltas that it takes. */
const BLOCKS: Readonly<Record<string, { readonly start: Fields; readonly deltas: readonly string[] }>> = {
  text: { start: { text: "" }, deltas: ["text_delta", "citations_delta"] },
  thinking: { start: { thinking: "", signature: "" }, deltas: ["thinking_delta", "signature_delta"] },
  redacted_thinking: { start: {}, deltas: [] },
  tool_use: { start: { input: {} }, deltas: ["input_json_delta"] },
};
const STOPS = /^(?:end_turn|max_tokens|stop_sequence|tool_use|pause_turn|refusal)$/u;

function messages(events: readonly Fields[], cut: boolean, say: Say): void {
  let state: "before" | "between" | "inside" | "after" | "over" = "before";
  let next = 0;
  let block: Fields = {};
  let json = "";
  for (const event of events) {
    const type = text(event["type"]);
    const wrong = `${type} ${state}`;
    switch (type) {
      case "ping":
        say(state !== "before" && state !== "over", wrong);
        break;
      case "message_start": {
        const message = fields(event["message"]);
        say(state === "before", wrong);
        say(list(message["content"]).length === 0 && message["stop_reason"] === null, "the start is none");
        say(
          text(message["id"]) !== "" && typeof fields(message["usage"])["input_tokens"] === "number",
          "the start lacks fields",
        );
        state = "between";
        break;
      }
      case "content_block_start": {
        block = fields(event["content_block"]);
        const kind = BLOCKS[text(block["type"])];
        say(state === "between" && event["index"] === next, `${wrong} at ${String(event["index"])}`);
        say(kind !== undefined, `an unknown block ${text(block["type"])}`);
        for (const [key, value] of Object.entries(kind?.start ?? {}))
          say(JSON.stringify(block[key]) === JSON.stringify(value), `a block begins with ${key}`);
        json = "";
        state = "inside";
        break;
      }
      case "content_block_delta": {
        const delta = fields(event["delta"]);
        say(state === "inside" && event["index"] === next, wrong);
        say(
          BLOCKS[text(block["type"])]?.deltas.includes(text(delta["type"])) === true,
          `${text(delta["type"])} in ${text(block["type"])}`,
        );
        json += text(delta["partial_json"]);
        break;
      }
      case "content_block_stop":
        say(state === "inside" && event["index"] === next, wrong);
        say(json === "" || cut || typeof parseOrText(json) === "object", "arguments are no object");
        next++;
        state = "between";
        break;
      case "message_delta":
        say(state === "between", wrong);
        say(STOPS.test(text(fields(event["delta"])["stop_reason"])), "an unknown stop_reason");
        say(typeof fields(event["usage"])["output_tokens"] === "number", "no usage at the end");
        state = "after";
        break;
      case "message_stop":
        say(state === "after", wrong);
        state = "over";
        break;
      default:
        say(false, wrong);
    }
  }
  say((state === "over") !== cut, `ends ${state}`);
}

interface OpenItem {
  readonly id: unknown;
  /** Of each part that is open, by kind and index, what its deltas said. */
  readonly parts: Map<string, string>;
}

function responses(events: readonly Fields[], cut: boolean, say: Say): void {
  const items = new Map<unknown, OpenItem>();
  const done: unknown[] = [];
  let opened = 0;
  for (const [place, event] of events.entries()) {
    const type = text(event["type"]).replace(/^response\./u, "");
    say(event["sequence_number"] === place, `sequence ${place} is ${String(event["sequence_number"])}`);
    say((type === "created") === (place === 0), "created is not first alone");
    say((type === "in_progress") === (place === 1), "in_progress is not second alone");
    if (type === "output_item.added") {
      say(event["output_index"] === opened++, "an output_index is left out");
      items.set(event["output_index"], { id: fields(event["item"])["id"], parts: new Map() });
    } else if ("output_index" in event) item(items, done, type, event, say);
    else if (/^(?:completed|incomplete)$/u.test(type)) {
      say(!cut && place === events.length - 1, `${type} is not last`);
      say(items.size === 0, "an item is open at the end");
      const { output, status } = fields(event["response"]);
      say(status === type, "status is not the event's");
      say(JSON.stringify(output) === JSON.stringify(done), "the output is not its items");
    } else say(/^(?:created|in_progress)$/u.test(type), `an unknown event ${type}`);
  }
  say(cut || /completed|incomplete/u.test(text(events.at(-1)?.["type"])), "no end");
}

/** Parts that open and close by events of their own; arguments of a call need none. */
const PART = /^(content_part|reasoning_summary_part)\.(added|done)$/u;
const SAID = /^(output_text|refusal|reasoning_summary_text|function_call_arguments)\.(delta|done)$/u;

/** The one part of a call. */
const CALL = "arguments";

function item(items: Map<unknown, OpenItem>, done: unknown[], type: string, event: Fields, say: Say): void {
  const open = items.get(event["output_index"]);
  if (open === undefined) {
    say(false, `${type} outside of an item`);
    return;
  }
  const place = JSON.stringify(event["content_index"] ?? event["summary_index"] ?? CALL);
  if (type === "output_item.done") {
    const whole = fields(event["item"]);
    say(whole["id"] === open.id, "an item's id changes");
    say(
      [...open.parts.keys()].every((key) => key === JSON.stringify(CALL)),
      "a part is open at the item's end",
    );
    say(/^(?:completed|incomplete)$/u.test(text(whole["status"])), "an item's end has no status");
    done[event["output_index"] as number] = whole;
    items.delete(event["output_index"]);
    return;
  }
  say(event["item_id"] === open.id, `${type} has another id`);
  const [, , edge] = PART.exec(type) ?? [];
  const [, kind, what] = SAID.exec(type) ?? [];
  const before = open.parts.get(place);
  if (edge === "added") {
    say(before === undefined, "a part is opened twice");
    open.parts.set(place, "");
  } else if (edge === "done") {
    const part = fields(event["part"]);
    say(before !== undefined && before === (part["text"] ?? part["refusal"]), "a part is not its deltas");
    open.parts.delete(place);
  } else if (what === "delta") {
    say(before !== undefined || kind === "function_call_arguments", "a delta outside of a part");
    open.parts.set(place, (before ?? "") + text(event["delta"]));
  } else if (what === "done") {
    say(
      (before ?? "") === (event["text"] ?? event["refusal"] ?? event["arguments"]),
      "what is done is not its deltas",
    );
  } else say(false, `an unknown event ${type}`);
}

import { closedPrefix } from "../../json/closed-prefix.ts";
import { isJsonObject, type Json, type JsonObject, parseJsonText } from "../../json/lossless.ts";
import type { AnswerEvent, FinishReason } from "../../neutral/events.ts";
import { type AnswerContext, AnswerFault, type StreamEncoder } from "../format.ts";
import type { TokenUsage } from "../../neutral/usage.ts";
import { type BlockKind, BlockQueue, event as write } from "./block-queue.ts";
import { writeCitation } from "./citation.ts";
import { markSignature } from "../../origin/foreign-signature.ts";

/** The vendor that signs calls themselves; here the thinking before a call holds what signs it. */
const GOOGLE = "google-gemini-v1";

const THOUGHTS: ReadonlySet<string> = new Set(["thinking", "redacted_thinking"]);

const REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "end_turn",
  stop_sequence: "stop_sequence",
  length: "max_tokens",
  tool_calls: "tool_use",
  refusal: "refusal",
  pause: "pause_turn",
};

/** Writes events as a stream of Anthropic's messages endpoint. Its callers can't ask for more than one choice, so only the first is told. */
export class MessagesStreamEncoder implements StreamEncoder {
  readonly #context: AnswerContext;
  readonly #blocks = new BlockQueue();
  readonly #others: Json[] = [];
  #started = false;
  #choice: number | undefined;
  /** Text so far that may be all of its block, and is only white space. */
  #blank = "";
  /** A text or a call was told. */
  #says = false;
  #usage: TokenUsage | undefined;
  #finish: Extract<AnswerEvent, { readonly type: "finish" }> | undefined;

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  encode(event: AnswerEvent): string {
    switch (event.type) {
      case "start":
        return this.#start(event.id, event.model);
      case "ping":
        // Clients may take the first event for the start; a comment is no event.
        return this.#started ? write("ping", {}) : ": ping\n\n";
      case "usage":
        this.#usage = event.usage;
        return "";
      case "end":
        return this.#start() + this.#end();
      default:
        this.#choice ??= event.choice;
        return event.choice === this.#choice ? this.#start() + this.#take(event) : "";
    }
  }

  /** Clients give up on a silent stream, and a provider that sends no pings may be slow to think: the first one is ours. */
  #start(id?: string, model?: string): string {
    if (this.#started) return "";
    this.#started = true;
    const message = {
      ...envelope(id ?? this.#context.requestId, model ?? this.#context.model),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: this.#usage === undefined ? { input_tokens: 0, output_tokens: 0 } : writeUsage(this.#usage),
    };
    return write("message_start", { message }) + write("ping", {});
  }

  #take(event: Extract<AnswerEvent, { readonly choice: number }>): string {
    switch (event.type) {
      case "text":
      case "refusal":
        return this.#say(event.text);
      case "thinking":
        return this.#think() + this.#blocks.append({ type: "thinking_delta", thinking: event.text });
      case "signature":
        return (
          this.#think() +
          this.#blocks.append({
            type: "signature_delta",
            signature: markSignature(event.signature, event.format),
          }) +
          this.#blocks.end()
        );
      case "redacted":
        return (
          this.#begin("redacted_thinking", { type: "redacted_thinking", data: event.data }) +
          this.#blocks.end()
        );
      case "tool_start": {
        const { choice, id, name, call, signature } = event;
        const signed =
          signature === undefined ? "" : this.#take({ type: "signature", choice, signature, format: GOOGLE });
        return signed + this.#begin("tool_use", { type: "tool_use", id, name, input: {} }, call);
      }
      case "tool_args":
        return this.#blocks.appendInput(event.call, event.json);
      case "tool_end":
        return this.#blocks.end(event.call);
      case "citation": {
        const citation = writeCitation(event.place);
        if (citation === undefined) {
          this.#others.push({ type: "citation", citation: event.value });
          return "";
        }
        return this.#openText() + this.#blocks.append({ type: "citations_delta", citation });
      }
      case "text_end":
        return this.#blocks.lastKind === "text" ? this.#blocks.end() : "";
      case "other":
        this.#others.push(event.value);
        return "";
      case "finish":
        this.#finish = event;
        return (this.#says ? "" : this.#sayBlank()) + this.#blocks.endAll();
    }
  }

  /** White space that a block of text would begin with waits for more: Claude refuses a conversation with a blank block in it. */
  #say(text: string): string {
    if (this.#blocks.lastKind !== "text") {
      this.#blank += text;
      return this.#blank.trim() === "" ? "" : this.#openText();
    }
    return this.#blocks.append({ type: "text_delta", text });
  }

  #openText(): string {
    if (this.#blocks.lastKind === "text") return "";
    const blank = this.#blank;
    const opened = this.#begin("text", { type: "text", text: "" });
    return blank === "" ? opened : opened + this.#blocks.append({ type: "text_delta", text: blank });
  }

  /** An answer of nothing else is told all the same. */
  #sayBlank(): string {
    return this.#blank === "" ? "" : this.#openText();
  }

  #begin(kind: BlockKind, start: JsonObject, call?: number): string {
    this.#blank = "";
    this.#says ||= kind === "text" || kind === "tool_use";
    return this.#blocks.begin(kind, start, call);
  }

  #think(): string {
    if (this.#blocks.lastKind === "thinking") return "";
    return this.#begin("thinking", { type: "thinking", thinking: "", signature: "" });
  }

  #end(): string {
    const delta = stopFields(this.#finish);
    const usage = this.#usage === undefined ? { output_tokens: 0 } : writeUsage(this.#usage);
    const others = this.#others.length > 0 ? this.#others : undefined;
    return (
      this.#blocks.endAll() +
      write("message_delta", { delta, usage, provider_specific: others }) +
      write("message_stop", {})
    );
  }
}

interface Gathered {
  /** Grown in place. */
  readonly blocks: { type: string; [key: string]: Json | undefined }[];
  readonly inputs: Map<number, { readonly block: { [key: string]: Json | undefined }; json: string }>;
  readonly others: Json[];
  /** The last block is one of text, and what is said goes on in it. */
  textOpen: boolean;
}

/** Writes events as one message. */
export function encodeMessage(events: readonly AnswerEvent[], context: AnswerContext): Json {
  const gathered: Gathered = { blocks: [], inputs: new Map(), others: [], textOpen: false };
  const { others } = gathered;
  let head: JsonObject = envelope(context.requestId, context.model);
  let finish: Extract<AnswerEvent, { readonly type: "finish" }> | undefined;
  let usage: TokenUsage | undefined;
  let choice: number | undefined;
  for (const event of events) {
    if (event.type === "start") head = envelope(event.id ?? context.requestId, event.model ?? context.model);
    else if (event.type === "usage") usage = event.usage;
    else if (event.type === "ping" || event.type === "end") continue;
    else if ((choice ??= event.choice) !== event.choice) continue;
    else if (event.type === "finish") finish = event;
    else if (event.type === "other") others.push(event.value);
    else gather(gathered, event);
  }
  const isCut = finish?.reason === "length" || finish?.reason === "refusal";
  for (const { block, json } of gathered.inputs.values())
    block["input"] = readInput(isCut ? closedPrefix(json) : json);
  return {
    ...head,
    content: withoutBlanks(gathered.blocks),
    ...stopFields(finish),
    usage: usage === undefined ? { input_tokens: 0, output_tokens: 0 } : writeUsage(usage),
    provider_specific: others.length > 0 ? others : undefined,
  };
}

function gather(
  gathered: Gathered,
  event: Exclude<Extract<AnswerEvent, { readonly choice: number }>, { readonly type: "finish" | "other" }>,
): void {
  const { blocks, inputs } = gathered;
  const last = blocks.at(-1);
  switch (event.type) {
    case "text":
    case "refusal": {
      const block = openText(gathered);
      block["text"] = (block["text"] as string) + event.text;
      return;
    }
    case "citation": {
      const citation = writeCitation(event.place);
      if (citation === undefined) gathered.others.push({ type: "citation", citation: event.value });
      else {
        const block = openText(gathered);
        block["citations"] = [...((block["citations"] as Json[] | undefined) ?? []), citation];
      }
      return;
    }
    case "text_end":
      gathered.textOpen = false;
      return;
    case "thinking":
      if (last?.type === "thinking" && last["signature"] === "")
        last["thinking"] = (last["thinking"] as string) + event.text;
      else blocks.push({ type: "thinking", thinking: event.text, signature: "" });
      return;
    case "signature":
      sign(blocks, markSignature(event.signature, event.format));
      return;
    case "redacted":
      blocks.push({ type: "redacted_thinking", data: event.data });
      return;
    case "tool_start": {
      if (event.signature !== undefined) sign(blocks, markSignature(event.signature, GOOGLE));
      const block = { type: "tool_use", id: event.id, name: event.name, input: {} };
      blocks.push(block);
      inputs.set(event.call, { block, json: "" });
      return;
    }
    case "tool_args": {
      const open = inputs.get(event.call);
      if (open !== undefined) open.json += event.json;
      return;
    }
    case "tool_end":
  }
}

/** The block that text goes on in; a new one where there is none, or something else came since. */
function openText(gathered: Gathered): Gathered["blocks"][number] {
  const last = gathered.blocks.at(-1);
  if (gathered.textOpen && last?.type === "text") return last;
  const block = { type: "text", text: "" };
  gathered.blocks.push(block);
  gathered.textOpen = true;
  return block;
}

/** Without texts of nothing but white space beside what says more, as a stream is told. */
function withoutBlanks(blocks: Gathered["blocks"]): Gathered["blocks"] {
  const isBlank = (block: Gathered["blocks"][number]): boolean =>
    block.type === "text" && block["citations"] === undefined && (block["text"] as string).trim() === "";
  const says = blocks.some((block) => !THOUGHTS.has(block.type) && !isBlank(block));
  return says ? blocks.filter((block) => !isBlank(block)) : blocks;
}

function sign(blocks: Gathered["blocks"], signature: string): void {
  const last = blocks.at(-1);
  if (last?.type === "thinking" && last["signature"] === "") last["signature"] = signature;
  else blocks.push({ type: "thinking", thinking: "", signature });
}

/** Arguments as an object. Of those that a bound or a filter cut off, what is whole stays, as clients keep it of a stream. */
function readInput(json: string): JsonObject {
  if (json.trim() === "") return {};
  const input = parseJsonText(json);
  if (!isJsonObject(input)) throw new AnswerFault("a tool call's arguments are no JSON object");
  return input;
}

function envelope(id: string, model: string): JsonObject {
  return { id, type: "message", role: "assistant", model };
}

function stopFields(finish: Extract<AnswerEvent, { readonly type: "finish" }> | undefined): JsonObject {
  return {
    stop_reason: REASONS[finish?.reason ?? "stop"],
    stop_sequence: finish?.reason === "stop_sequence" ? (finish.stopSequence ?? null) : null,
    stop_details:
      finish?.explanation === undefined
        ? undefined
        : { type: "refusal", category: null, explanation: finish.explanation },
  };
}

/** Usage in Anthropic's words, which count beside the input what a cache gave and took. */
export function writeUsage(usage: TokenUsage): JsonObject {
  const cacheWritten = usage.cacheWritten ?? 0;
  return {
    input_tokens: Math.max(0, usage.input - usage.cached - cacheWritten),
    cache_creation_input_tokens: cacheWritten,
    cache_read_input_tokens: usage.cached,
    output_tokens: usage.output,
    output_tokens_details: usage.reasoning > 0 ? { thinking_tokens: usage.reasoning } : undefined,
  };
}

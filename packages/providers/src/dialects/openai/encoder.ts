import { type Json, type JsonObject, printJson } from "../../json/lossless.ts";
import type { AnswerEvent, FinishReason } from "../../neutral/events.ts";
import type { AnswerContext, StreamEncoder } from "../format.ts";
import type { TokenUsage } from "../../neutral/usage.ts";
import { writeGoogle } from "./google-signature.ts";
import { ReasoningDetails } from "./reasoning-details.ts";

const REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "stop",
  stop_sequence: "stop",
  length: "length",
  tool_calls: "tool_calls",
  refusal: "content_filter",
  pause: "stop",
};

/** Writes events as chat completion chunks. */
export class ChatStreamEncoder implements StreamEncoder {
  readonly #context: AnswerContext;
  readonly #choices = new Map<number, ChoiceState>();
  #id: string;
  #model: string;
  #usage: TokenUsage | undefined;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#id = context.requestId;
    this.#model = context.model;
  }

  encode(event: AnswerEvent): string {
    switch (event.type) {
      case "start":
        this.#id = event.id ?? this.#id;
        this.#model = event.model ?? this.#model;
        return this.#open(0);
      case "ping":
        return ": ping\n\n";
      case "usage":
        this.#usage = event.usage;
        return "";
      case "end":
        return `${this.#restChunks()}${this.#usageChunk()}data: [DONE]\n\n`;
      case "finish": {
        const opened = this.#open(event.choice);
        const reason = REASONS[event.reason];
        const why =
          event.explanation === undefined ? "" : this.#chunk(event.choice, { refusal: event.explanation });
        const end = this.#chunk(
          event.choice,
          {},
          { finish_reason: reason, native_finish_reason: event.native, stop_reason: event.stopSequence },
        );
        return opened + this.#heldChunk(event.choice) + why + end;
      }
      default: {
        const opened = this.#open(event.choice);
        const delta = (this.#choices.get(event.choice) as ChoiceState).delta(event);
        if (delta === undefined) return opened;
        const logprobs = event.type === "text" ? event.logprobs : undefined;
        return opened + this.#chunk(event.choice, delta, { finish_reason: null }, logprobs);
      }
    }
  }

  /** One role chunk for each choice, before all else. */
  #open(choice: number): string {
    if (this.#choices.has(choice)) return "";
    this.#choices.set(choice, new ChoiceState());
    return this.#chunk(choice, { role: "assistant", content: "" });
  }

  #chunk(
    choice: number,
    delta: JsonObject,
    end: JsonObject = { finish_reason: null },
    logprobs?: readonly Json[],
  ): string {
    return this.#event([{ index: choice, delta, logprobs: writeLogprobs(logprobs ?? []), ...end }]);
  }

  /** Once for all: OpenAI's own clients keep the last list of a field that they don't know, or refuse a second one. */
  #heldChunk(choice: number): string {
    const held = this.#choices.get(choice)?.takeHeld();
    return held === undefined ? "" : this.#chunk(choice, held);
  }

  #restChunks(): string {
    return [...this.#choices.keys()].map((choice) => this.#heldChunk(choice)).join("");
  }

  #usageChunk(): string {
    if (!this.#context.usageAsked || this.#usage === undefined) return "";
    return this.#event([], writeChatUsage(this.#usage));
  }

  #event(choices: readonly Json[], usage?: Json): string {
    const chunk = {
      id: this.#id,
      object: "chat.completion.chunk",
      created: this.#context.createdAt,
      model: this.#model,
      choices,
      usage,
    };
    return `data: ${printJson(chunk)}\n\n`;
  }
}

type ChoiceEvent = Extract<AnswerEvent, { readonly choice: number }>;

/** What is remembered of one choice between its deltas. */
class ChoiceState {
  readonly #withArguments = new Set<number>();
  readonly #details = new ReasoningDetails();
  readonly #others: Json[] = [];

  /** Thoughts and what only the provider's dialect has, so far. */
  takeHeld(): JsonObject | undefined {
    const details = this.#details.take();
    const others = this.#others.splice(0);
    if (details === undefined && others.length === 0) return undefined;
    return { reasoning_details: details, provider_specific: others.length > 0 ? others : undefined };
  }

  delta(event: Exclude<ChoiceEvent, { readonly type: "finish" }>): JsonObject | undefined {
    switch (event.type) {
      case "text":
        return { content: event.text };
      case "refusal":
        return { refusal: event.text };
      case "thinking":
        this.#details.think(event.text);
        return { reasoning_content: event.text };
      case "signature":
        this.#details.sign(event.signature, event.format);
        return undefined;
      case "redacted":
        this.#details.redact(event.data, event.format);
        return undefined;
      case "tool_start":
        return toolDelta(event.call, { name: event.name, arguments: "" }, event.id, event.signature);
      case "tool_args":
        this.#withArguments.add(event.call);
        return toolDelta(event.call, { arguments: event.json });
      case "tool_end":
        return this.#withArguments.has(event.call) ? undefined : toolDelta(event.call, { arguments: "{}" });
      case "citation":
        this.#others.push({ type: "citation", citation: event.value });
        return undefined;
      case "other":
        this.#others.push(event.value);
        return undefined;
      case "text_end":
        return undefined;
    }
  }
}

function toolDelta(index: number, called: JsonObject, id?: string, signature?: string): JsonObject {
  const type = id === undefined ? undefined : "function";
  return { tool_calls: [{ index, id, type, function: called, extra_content: writeGoogle(signature) }] };
}

function writeLogprobs(content: readonly Json[]): Json {
  return content.length === 0 ? null : { content, refusal: null };
}

interface Message {
  text: string | undefined;
  refusal: string | undefined;
  thinking: string;
  readonly details: ReasoningDetails;
  readonly calls: { id: string; name: string; json: string; signature: string | undefined }[];
  readonly logprobs: Json[];
  readonly others: Json[];
  finish: Extract<AnswerEvent, { readonly type: "finish" }> | undefined;
}

/** Writes events as one chat completion. */
export function encodeCompletion(events: readonly AnswerEvent[], context: AnswerContext): Json {
  const messages: Message[] = [];
  let id = context.requestId;
  let model = context.model;
  let usage: TokenUsage | undefined;
  for (const event of events) {
    if (event.type === "start") {
      id = event.id ?? id;
      model = event.model ?? model;
    } else if (event.type === "usage") usage = event.usage;
    else if (event.type !== "ping" && event.type !== "end") {
      gather((messages[event.choice] ??= emptyMessage()), event);
    }
  }
  return {
    id,
    object: "chat.completion",
    created: context.createdAt,
    model,
    // A choice that nobody told leaves no hole.
    choices: messages.flatMap((message, index) => [writeChoice(message, index)]),
    usage: usage === undefined ? undefined : writeChatUsage(usage),
  };
}

function emptyMessage(): Message {
  return {
    text: undefined,
    refusal: undefined,
    thinking: "",
    details: new ReasoningDetails(),
    calls: [],
    logprobs: [],
    others: [],
    finish: undefined,
  };
}

function gather(message: Message, event: ChoiceEvent): void {
  switch (event.type) {
    case "text":
      message.text = (message.text ?? "") + event.text;
      message.logprobs.push(...(event.logprobs ?? []));
      return;
    case "refusal":
      message.refusal = (message.refusal ?? "") + event.text;
      return;
    case "thinking":
      message.thinking += event.text;
      message.details.think(event.text);
      return;
    case "signature":
      message.details.sign(event.signature, event.format);
      return;
    case "redacted":
      message.details.redact(event.data, event.format);
      return;
    case "tool_start":
      message.calls[event.call] = { id: event.id, name: event.name, json: "", signature: event.signature };
      return;
    case "tool_args":
      (message.calls[event.call] as { json: string }).json += event.json;
      return;
    case "tool_end":
    case "text_end":
      return;
    case "citation":
      message.others.push({ type: "citation", citation: event.value });
      return;
    case "other":
      message.others.push(event.value);
      return;
    case "finish":
      message.finish = event;
      if (event.explanation !== undefined) message.refusal = (message.refusal ?? "") + event.explanation;
  }
}

function writeChoice(message: Message, index: number): Json {
  const { finish } = message;
  return {
    index,
    message: {
      role: "assistant",
      content: message.text ?? null,
      refusal: message.refusal ?? null,
      reasoning_content: message.thinking === "" ? undefined : message.thinking,
      reasoning_details: message.details.take(),
      tool_calls:
        message.calls.length > 0
          ? message.calls.map(({ id, name, json, signature }) => ({
              id,
              type: "function",
              function: { name, arguments: json === "" ? "{}" : json },
              extra_content: writeGoogle(signature),
            }))
          : undefined,
      provider_specific: message.others.length > 0 ? message.others : undefined,
    },
    logprobs: writeLogprobs(message.logprobs),
    finish_reason: finish === undefined ? "stop" : REASONS[finish.reason],
    native_finish_reason: finish?.native,
    // Where vLLM, too, says which stop sequence was met.
    stop_reason: finish?.stopSequence,
  };
}

/** Usage in chat's words. */
export function writeChatUsage(usage: TokenUsage): JsonObject {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.total,
    prompt_tokens_details: {
      cached_tokens: usage.cached,
      cache_write_tokens: usage.cacheWritten,
      audio_tokens: usage.audioInput,
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoning, audio_tokens: usage.audioOutput },
  };
}

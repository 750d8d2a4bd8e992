import { isJsonList, isJsonObject, type Json, type JsonObject } from "../../json/lossless.ts";
import type { AnswerEvent } from "../../neutral/events.ts";
import { type AnswerContext, AnswerFault, type StreamEncoder } from "../format.ts";
import type { TokenUsage } from "../../neutral/usage.ts";
import { EventWriter } from "./event-writer.ts";
import { Namespaces } from "./namespaces.ts";
import { OutputItems } from "./output-items.ts";
import { seal, type Sealed } from "../../origin/thinking-seal.ts";

type Finish = Extract<AnswerEvent, { readonly type: "finish" }>;

/** Parameters that a response repeats, with what they are when the caller did not say. */
const ECHOED: JsonObject = {
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  service_tier: "auto",
  temperature: null,
  text: { format: { type: "text" } },
  tool_choice: "auto",
  tools: [],
  top_logprobs: 0,
  top_p: null,
  truncation: "disabled",
  user: null,
};

/**
 * Writes events as the stream of a response: every item opened, told and closed, and a final object that is the sum of what was told
 * (BH-32). Its callers can't ask for more than one choice, so only the first is told.
 */
export class ResponsesStreamEncoder implements StreamEncoder {
  readonly #context: AnswerContext;
  readonly #events = new EventWriter();
  readonly #items: OutputItems;
  readonly #base: string;
  readonly #sealed: boolean;
  readonly #others: Json[] = [];
  #model: string;
  #started = false;
  #choice: number | undefined;
  #usage: TokenUsage | undefined;
  #finish: Finish | undefined;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#model = context.model;
    this.#base = context.requestId
      .replace(/^req_/u, "")
      .replaceAll(/[^\w-]/gu, "")
      .replaceAll("-", "");
    this.#items = new OutputItems(this.#events, this.#base, new Namespaces(context.request));
    const include = context.request["include"];
    this.#sealed = isJsonList(include) && include.includes("reasoning.encrypted_content");
  }

  get sequence(): number {
    return this.#events.sequence;
  }

  encode(event: AnswerEvent): string {
    switch (event.type) {
      case "start":
        this.#model = event.model ?? this.#model;
        return this.#start();
      case "ping":
        return ": ping\n\n";
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

  /** The response as far as it has come. */
  response(): JsonObject {
    const status = this.#status;
    const reason = this.#finish === undefined ? undefined : reasonOf(this.#finish);
    return {
      id: `resp_${this.#base}`,
      object: "response",
      created_at: this.#context.createdAt,
      status,
      background: false,
      error: null,
      incomplete_details: reason === undefined ? null : { reason },
      ...this.#echo(),
      model: this.#model,
      output: this.#items.done.slice(),
      previous_response_id: null,
      store: false,
      usage:
        this.#finish === undefined || this.#usage === undefined ? null : writeResponsesUsage(this.#usage),
      provider_specific: this.#others.length > 0 ? this.#others : undefined,
    };
  }

  get #status(): string {
    return this.#finish === undefined ? "in_progress" : statusOf(this.#finish);
  }

  #echo(): JsonObject {
    const { request } = this.#context;
    return Object.fromEntries(Object.entries(ECHOED).map(([key, usual]) => [key, request[key] ?? usual]));
  }

  #start(): string {
    if (this.#started) return "";
    this.#started = true;
    const response = this.response();
    return (
      this.#events.write("response.created", { response }) +
      this.#events.write("response.in_progress", { response })
    );
  }

  #take(event: Extract<AnswerEvent, { readonly choice: number }>): string {
    switch (event.type) {
      case "text":
      case "refusal":
        return event.text === "" ? "" : this.#items.say(event.type, event.text);
      case "thinking":
        return event.text === "" ? "" : this.#items.think(event.text);
      case "signature":
        return this.#items.endThinking(
          this.#seal({ kind: "signature", data: event.signature, format: event.format }),
        );
      case "redacted": {
        const encrypted = this.#seal({ kind: "redacted", data: event.data, format: event.format });
        return encrypted === undefined ? "" : this.#items.endThinking(encrypted);
      }
      case "tool_start":
        return this.#items.startCall(event.call, event);
      case "tool_args":
        return this.#items.appendCall(event.call, event.json);
      case "tool_end":
        return this.#items.endCall(event.call);
      case "citation":
        this.#others.push({ type: "citation", citation: event.value });
        return "";
      case "other":
        return this.#tellOther(event.value);
      case "text_end":
        return "";
      case "finish":
        return this.#stop(event);
    }
  }

  /** Chat's citations of pages are this API's, in an object less; what else only the provider has stands in the final object. */
  #tellOther(value: Json): string {
    const annotations = isJsonObject(value) ? value["annotations"] : undefined;
    if (!isJsonList(annotations)) {
      this.#others.push(value);
      return "";
    }
    let told = "";
    const untold = annotations.filter((annotation) => {
      const cited = citationOf(annotation);
      const text = cited === undefined ? undefined : this.#items.annotate(cited);
      told += text ?? "";
      return text === undefined;
    });
    if (untold.length > 0) this.#others.push({ annotations: untold });
    return told;
  }

  /** What is encrypted is only told to who asks for it. */
  #seal(sealed: Sealed): string | undefined {
    return this.#sealed ? seal(sealed) : undefined;
  }

  #stop(finish: Finish): string {
    this.#finish = finish;
    const why = finish.explanation === undefined ? "" : this.#items.say("refusal", finish.explanation);
    return why + this.#items.endAll(statusOf(finish));
  }

  #end(): string {
    const stopped =
      this.#finish === undefined ? this.#stop({ type: "finish", choice: 0, reason: "stop", native: "" }) : "";
    const response = this.response();
    return stopped + this.#events.write(`response.${this.#status}`, { response });
  }
}

function citationOf(annotation: Json): JsonObject | undefined {
  if (!isJsonObject(annotation) || annotation["type"] !== "url_citation") return undefined;
  const cited = annotation["url_citation"];
  return isJsonObject(cited) ? { type: "url_citation", ...cited } : undefined;
}

/** Writes events as one response. */
export function encodeResponse(events: readonly AnswerEvent[], context: AnswerContext): Json {
  const encoder = new ResponsesStreamEncoder(context);
  for (const event of events) encoder.encode(event);
  const response = encoder.response();
  if (response["status"] === "in_progress") throw new AnswerFault("it has no end");
  return response;
}

function statusOf(finish: Finish): "completed" | "incomplete" {
  return reasonOf(finish) === undefined ? "completed" : "incomplete";
}

/** A model that refuses in words of its own has answered; one whose words were held back has not. */
function reasonOf({ reason, native }: Finish): string | undefined {
  if (reason === "length") return "max_output_tokens";
  return reason === "refusal" && native !== "stop" ? "content_filter" : undefined;
}

/** Usage in this API's words. */
export function writeResponsesUsage(usage: TokenUsage): JsonObject {
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cached, cache_write_tokens: usage.cacheWritten ?? 0 },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: usage.total,
  };
}

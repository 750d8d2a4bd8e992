import { type Finish, Gathering, type Meaning, type Said, type Usage } from "./meaning.ts";
import { count, type Fields, fields, list, parse, parseOrText, sseEvents, text } from "./values.ts";

const FINISH: Readonly<Record<string, Finish>> = {
  stop: "stop",
  length: "length",
  tool_calls: "tool_calls",
  function_call: "tool_calls",
  content_filter: "filtered",
};

interface Call {
  id: string;
  name: string;
  json: string;
  signature: string | undefined;
}

interface Choice {
  readonly gathering: Gathering;
  readonly calls: Map<unknown, Call>;
  finish: string | undefined;
  stopSequence: string | undefined;
  /** Its thinking is told as text, so that whole thoughts tell it again. */
  thinksAloud: boolean;
}

/** Reads a chat completion: of OpenAI, of those who follow it, and of Switchyard. */
export function readChat(body: string): Meaning {
  return read([fields(parse(body))], true);
}

/** Reads a stream of its chunks. */
export function readChatStream(body: string): Meaning {
  const events = sseEvents(body);
  const chunks = events.filter(({ data }) => data !== "[DONE]").map(({ data }) => fields(parse(data)));
  const failed = chunks.some((chunk) => "error" in chunk && chunk["error"] !== null);
  return read(chunks, !failed);
}

function read(chunks: readonly Fields[], whole: boolean): Meaning {
  const choices: Choice[] = [];
  let model: string | undefined;
  let usage: Usage | undefined;
  for (const chunk of chunks) {
    model ??= text(chunk["model"]) || undefined;
    usage = readUsage(chunk["usage"] ?? fields(chunk["x_groq"])["usage"]) ?? usage;
    for (const [place, value] of list(chunk["choices"]).entries()) {
      const choice = fields(value);
      usage = readUsage(choice["usage"]) ?? usage;
      const index = typeof choice["index"] === "number" ? choice["index"] : place;
      const mine = (choices[index] ??= {
        gathering: new Gathering(),
        calls: new Map(),
        finish: undefined,
        stopSequence: undefined,
        thinksAloud: false,
      });
      take(mine, fields(choice["delta"] ?? choice["message"]));
      mine.finish ??= text(choice["finish_reason"]) || undefined;
      mine.stopSequence ??= text(choice["stop_reason"]) || undefined;
    }
  }
  // Perplexity's and xAI's sources stand beside the choices, in each chunk.
  for (const key of ["citations", "search_results"]) {
    const newest = chunks.findLast((chunk) => key in chunk);
    choices[0]?.gathering.extra(newest?.[key]);
  }
  return { model, said: choices.map((choice) => said(choice, whole)), usage };
}

function take(choice: Choice, delta: Fields): void {
  const { gathering, calls } = choice;
  const details = list(delta["reasoning_details"]).map(fields);
  const plain = text(delta["reasoning_content"]) || text(delta["reasoning"]);
  if (plain !== "") {
    gathering.say("thinking", plain);
    choice.thinksAloud = true;
  }
  for (const detail of details) {
    if (!choice.thinksAloud) gathering.say("thinking", text(detail["text"]) || text(detail["summary"]));
    gathering.sealThinking("signature", detail["signature"]);
    gathering.sealThinking("redacted", detail["data"]);
  }
  // What signs a text signs the thinking that led to it.
  gathering.seal("signature", googles(delta));
  if (typeof delta["content"] === "string") gathering.say("text", delta["content"]);
  for (const value of list(delta["content"])) {
    const part = fields(value);
    if (part["type"] === "text") gathering.say("text", part["text"]);
    else if (part["type"] === "thinking") {
      for (const thought of list(part["thinking"])) gathering.say("thinking", fields(thought)["text"]);
    } else gathering.extra(part);
  }
  gathering.say("refusal", delta["refusal"]);
  for (const [place, value] of list(delta["tool_calls"]).entries()) takeCall(calls, fields(value), place);
  for (const key of ["annotations", "audio", "images"]) gathering.extra(delta[key]);
  for (const value of list(delta["provider_specific"])) gathering.extra(value);
}

function takeCall(calls: Choice["calls"], delta: Fields, place: number): void {
  const called = fields(delta["function"]);
  const key = delta["index"] ?? place;
  const known = calls.get(key);
  const call = known ?? { id: "", name: "", json: "", signature: undefined };
  if (known === undefined) calls.set(key, call);
  call.id ||= text(delta["id"]);
  call.name ||= text(called["name"]);
  call.json +=
    typeof called["arguments"] === "object" && called["arguments"] !== null
      ? JSON.stringify(called["arguments"])
      : text(called["arguments"]);
  call.signature ??= googles(delta) || undefined;
}

/** Where Google's compatible API has a signature. */
function googles(owner: Fields): string {
  return text(fields(fields(owner["extra_content"])["google"])["thought_signature"]);
}

function said({ gathering, calls, finish, stopSequence }: Choice, whole: boolean): Said {
  for (const { id, name, json, signature } of calls.values()) {
    const input = json.trim() === "" ? {} : parseOrText(json);
    gathering.call({ id: id || undefined, name, input, signature });
  }
  const { pieces, extras } = gathering;
  return { pieces, extras, finish: whole ? meant(pieces, finish, stopSequence) : "cut", stopSequence };
}

/** `stop` stands for many ends: of a call where a server follows the API loosely, of a refusal, and at a stop sequence (vLLM). */
function meant(pieces: Said["pieces"], finish: string | undefined, stopSequence: string | undefined): Finish {
  const told = FINISH[finish ?? "stop"] ?? "stop";
  if (told !== "stop") return told;
  if (pieces.some(({ kind }) => kind === "call")) return "tool_calls";
  if (pieces.some(({ kind }) => kind === "refusal")) return "refusal";
  return stopSequence === undefined ? "stop" : "stop_sequence";
}

/**
 * OpenAI counts cached tokens in the prompt and reasoning in the completion. xAI counts reasoning beside it, Google's compatible API does
 * not even name it: their totals show it.
 */
function readUsage(value: unknown): Usage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const usage = fields(value);
  const prompt = fields(usage["prompt_tokens_details"]);
  const named = count(fields(usage["completion_tokens_details"])["reasoning_tokens"]);
  const input = count(usage["prompt_tokens"]);
  const output = count(usage["completion_tokens"]);
  const unseen = Math.max(0, count(usage["total_tokens"]) - input - output);
  const beside = named === 0 || named === unseen ? unseen : 0;
  // Azure's Grok tells of more cached tokens than the prompt has.
  const cached = count(prompt["cached_tokens"] ?? usage["prompt_cache_hit_tokens"] ?? usage["cached_tokens"]);
  return {
    input,
    output: output + beside,
    cached: Math.min(cached, input),
    cacheWritten: count(prompt["cache_write_tokens"]),
    reasoning: named + (named === 0 ? beside : 0),
  };
}

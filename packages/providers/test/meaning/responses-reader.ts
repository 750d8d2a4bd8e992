import { type Finish, Gathering, type Meaning, type Usage } from "./meaning.ts";
import { count, type Fields, fields, list, parse, parseOrText, sseEvents, text } from "./values.ts";

/** Reads a response object of OpenAI's API. */
export function readResponse(body: string): Meaning {
  return meaningOf(fields(parse(body)));
}

/** Reads a stream of one: the object of its last event, or of a cut one what its deltas add up to. */
export function readResponseStream(body: string): Meaning {
  const events = sseEvents(body).map(({ data }) => fields(parse(data)));
  const end = events.find(({ type }) => type === "response.completed" || type === "response.incomplete");
  const start = events.find(({ type }) => type === "response.created");
  if (end !== undefined) return meaningOf(fields(end["response"]));
  return meaningOf({ ...fields(start?.["response"]), output: addUp(events) });
}

const DELTAS: Readonly<Record<string, string>> = {
  "response.output_text.delta": "text",
  "response.refusal.delta": "refusal",
  "response.reasoning_summary_text.delta": "summary",
  "response.function_call_arguments.delta": "arguments",
};

/** The items that deltas say. */
export function addUp(events: readonly Fields[]): Fields[] {
  const items: Record<string, unknown>[] = [];
  for (const event of events) {
    const index = count(event["output_index"]);
    const kind = DELTAS[text(event["type"])];
    if (event["type"] === "response.output_item.added")
      items[index] = { ...fields(event["item"]), content: [], summary: [], arguments: "" };
    const item = items[index];
    if (item === undefined) continue;
    if (event["type"] === "response.output_item.done") {
      const { encrypted_content, status } = fields(event["item"]);
      Object.assign(item, { encrypted_content, status });
    }
    if (kind === undefined) continue;
    if (kind === "arguments") item["arguments"] = text(item["arguments"]) + text(event["delta"]);
    else {
      const key = kind === "summary" ? "summary" : "content";
      const parts = [...list(item[key])];
      const at = count(event[`${key}_index`]);
      const before = fields(parts[at]);
      const type = { text: "output_text", refusal: "refusal", summary: "summary_text" }[kind];
      const name = kind === "refusal" ? "refusal" : "text";
      parts[at] = { type, [name]: text(before[name]) + text(event["delta"]) };
      item[key] = parts;
    }
  }
  return items;
}

function meaningOf(response: Fields): Meaning {
  const gathering = new Gathering();
  for (const item of list(response["output"])) takeItem(gathering, fields(item));
  for (const value of list(response["provider_specific"])) gathering.extra(value);
  const { pieces, extras } = gathering;
  return {
    model: text(response["model"]) || undefined,
    said: [{ pieces, extras, finish: finishOf(response, gathering) }],
    usage: readUsage(response["usage"]),
  };
}

function finishOf(response: Fields, gathering: Gathering): Finish {
  const reason = fields(response["incomplete_details"])["reason"];
  if (response["status"] === "incomplete") return reason === "content_filter" ? "filtered" : "length";
  if (response["status"] !== "completed") return "cut";
  return gathering.calls > 0 ? "tool_calls" : "stop";
}

function takeItem(gathering: Gathering, item: Fields): void {
  switch (item["type"]) {
    case "message":
      for (const value of list(item["content"])) {
        const part = fields(value);
        gathering.say(part["type"] === "refusal" ? "refusal" : "text", part["refusal"] ?? part["text"]);
        for (const note of list(part["annotations"])) gathering.extra(note);
      }
      return;
    case "reasoning":
      takeReasoning(gathering, item);
      return;
    case "function_call":
      gathering.call({
        id: text(item["call_id"]) || undefined,
        name: text(item["name"]),
        input: parseOrText(text(item["arguments"])),
        signature: text(fields(fields(item["extra_content"])["google"])["thought_signature"]) || undefined,
      });
      return;
    default:
      gathering.extra(item);
  }
}

/** Switchyard's own form of `encrypted_content`: who sealed it, how, and what. */
function takeReasoning(gathering: Gathering, item: Fields): void {
  for (const part of [...list(item["summary"]), ...list(item["content"])])
    gathering.say("thinking", fields(part)["text"]);
  const sealed = text(item["encrypted_content"]);
  const [, kind, data] = /^[\w-]+\.(signature|redacted)\.(.*)$/su.exec(sealed) ?? [];
  if (kind === "signature" || kind === "redacted") gathering.seal(kind, data);
  else gathering.seal("redacted", sealed);
}

function readUsage(value: unknown): Usage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const usage = fields(value);
  const input = fields(usage["input_tokens_details"]);
  return {
    input: count(usage["input_tokens"]),
    output: count(usage["output_tokens"]),
    cached: count(input["cached_tokens"]),
    cacheWritten: count(input["cache_write_tokens"]),
    reasoning: count(fields(usage["output_tokens_details"])["reasoning_tokens"]),
  };
}

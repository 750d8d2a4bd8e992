import type { CallerDialect } from "./losses.ts";
import { count, type Fields, fields, list, text } from "./values.ts";

/** What is wrong with a body's fields beside what it says, by the published description of its API; one line each. */
export function envelopeFaults(dialect: CallerDialect, body: Fields): string[] {
  const faults: string[] = [];
  ENVELOPES[dialect](body, (holds, fault) => {
    if (!holds) faults.push(fault);
  });
  return faults;
}

type Say = (holds: boolean, fault: string) => void;

const ENVELOPES: Readonly<Record<CallerDialect, (body: Fields, say: Say) => void>> = {
  chat,
  messages,
  responses,
};

const FORMATS = /^(?:anthropic-claude-v1|google-gemini-v1)$/u;

function chat(body: Fields, say: Say): void {
  say(body["object"] === "chat.completion", "object");
  say(text(body["id"]) !== "", "id");
  say(Number.isInteger(body["created"]), "created");
  const usage = fields(body["usage"]);
  say(
    count(usage["total_tokens"]) === count(usage["prompt_tokens"]) + count(usage["completion_tokens"]),
    "total_tokens",
  );
  for (const [place, value] of list(body["choices"]).entries()) {
    const choice = fields(value);
    const message = fields(choice["message"]);
    say(choice["index"] === place && message["role"] === "assistant", "index or role");
    say(/^(?:stop|length|tool_calls|content_filter)$/u.test(text(choice["finish_reason"])), "finish_reason");
    say(choice["logprobs"] === null || Array.isArray(fields(choice["logprobs"])["content"]), "logprobs");
    for (const call of list(message["tool_calls"])) say(fields(call)["type"] === "function", "a call's type");
    details(message, say);
  }
}

/** OpenRouter's form of reasoning, as beside `reasoning_content`. */
function details(message: Fields, say: Say): void {
  const told = list(message["reasoning_details"]).map(fields);
  for (const [place, detail] of told.entries()) {
    say(/^reasoning\.(?:text|encrypted)$/u.test(text(detail["type"])), "a detail's type");
    say(FORMATS.test(text(detail["format"])) && detail["index"] === place, "a detail's format or index");
  }
  const thought = told.map((detail) => text(detail["text"])).join("");
  say(thought === "" || thought === message["reasoning_content"], "details are not the reasoning");
}

function messages(body: Fields, say: Say): void {
  say(body["type"] === "message" && body["role"] === "assistant", "type or role");
  say(text(body["id"]) !== "", "id");
  const reason = text(body["stop_reason"]);
  say(/^(?:end_turn|max_tokens|stop_sequence|tool_use|pause_turn|refusal)$/u.test(reason), "stop_reason");
  say(body["stop_sequence"] === null || reason === "stop_sequence", "stop_sequence");
  const why = body["stop_details"];
  say(
    (why ?? null) === null || (fields(why)["type"] === "refusal" && fields(why)["category"] === null),
    "stop_details",
  );
}

function responses(body: Fields, say: Say): void {
  const { status } = body;
  const cut = status === "incomplete";
  say(body["object"] === "response" && text(body["id"]).startsWith("resp_"), "object or id");
  say(
    body["error"] === null && body["store"] === false && body["background"] === false,
    "error, store or background",
  );
  say(cut || status === "completed", "status");
  const reason = fields(body["incomplete_details"])["reason"];
  say(
    cut ? /^(?:max_output_tokens|content_filter)$/u.test(text(reason)) : body["incomplete_details"] === null,
    "incomplete_details",
  );
  const usage = body["usage"] === null ? {} : fields(body["usage"]);
  say(
    count(usage["total_tokens"]) === count(usage["input_tokens"]) + count(usage["output_tokens"]),
    "total_tokens",
  );
  const items = list(body["output"]).map(fields);
  say(new Set(items.map(({ id }) => id)).size === items.length, "ids");
  for (const item of items) {
    say(text(item["id"]).startsWith(PREFIXES[text(item["type"])] ?? "none"), "an item's id");
    say(item["status"] === "completed" || (cut && item["status"] === "incomplete"), "an item's status");
    say(item["type"] !== "message" || item["role"] === "assistant", "an item's role");
    for (const part of list(item["content"]).map(fields))
      say(
        typeof part[part["type"] === "refusal" ? "refusal" : "text"] === "string" &&
          /^(?:output_text|refusal)$/u.test(text(part["type"])),
        "a part's type",
      );
    for (const part of list(item["summary"]))
      say(fields(part)["type"] === "summary_text", "a summary's type");
  }
}

const PREFIXES: Readonly<Record<string, string>> = {
  message: "msg_",
  reasoning: "rs_",
  function_call: "fc_",
};

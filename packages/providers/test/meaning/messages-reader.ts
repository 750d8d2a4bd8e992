import { type Finish, Gathering, type Meaning, type Usage } from "./meaning.ts";
import { count, type Fields, fields, list, parse, parseOrText, sseEvents, text } from "./values.ts";

const FINISH: Readonly<Record<string, Finish>> = {
  end_turn: "stop",
  stop_sequence: "stop_sequence",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "filtered",
  pause_turn: "pause",
};

/** Reads a message of Anthropic's API, the vendor's or Switchyard's. */
export function readMessage(body: string): Meaning {
  return meaningOf(fields(parse(body)));
}

function meaningOf(message: Fields): Meaning {
  const gathering = new Gathering();
  for (const block of list(message["content"])) takeBlock(gathering, fields(block));
  for (const value of list(message["provider_specific"])) gathering.extra(value);
  const reason = text(message["stop_reason"]);
  const details = fields(message["stop_details"]);
  const { pieces, extras } = gathering;
  return {
    model: text(message["model"]) || undefined,
    said: [
      {
        pieces,
        extras,
        finish: reason === "" ? "cut" : (FINISH[reason] ?? "stop"),
        stopSequence: text(message["stop_sequence"]) || undefined,
        explanation: text(details["explanation"]) || undefined,
      },
    ],
    usage: readUsage(message["usage"]),
  };
}

/** Reads a stream of it by adding up its events to one message. */
export function readMessageStream(body: string): Meaning {
  let message: Record<string, unknown> = { content: [] };
  const blocks: Record<string, unknown>[] = [];
  const jsons: string[] = [];
  let started = false;
  for (const { data } of sseEvents(body)) {
    const event = fields(parse(data));
    const index = count(event["index"]);
    switch (event["type"]) {
      case "message_start":
        if (!started) message = { ...fields(event["message"]) };
        started = true;
        break;
      case "content_block_start":
        blocks[index] = { ...fields(event["content_block"]) };
        break;
      case "content_block_delta":
        takeDelta((blocks[index] ??= {}), fields(event["delta"]), (json) => {
          jsons[index] = (jsons[index] ?? "") + json;
        });
        break;
      case "message_delta":
        Object.assign(message, event["delta"]);
        message["usage"] = { ...fields(message["usage"]), ...told(event["usage"]) };
        if ("provider_specific" in event) message["provider_specific"] = event["provider_specific"];
        break;
      default:
    }
  }
  for (const [index, json] of jsons.entries()) {
    if (json !== undefined && json !== "" && blocks[index] !== undefined)
      blocks[index]["input"] = parseOrText(json);
  }
  return meaningOf({ ...message, content: blocks });
}

function told(usage: unknown): Fields {
  return Object.fromEntries(Object.entries(fields(usage)).filter(([, value]) => value !== null));
}

function takeDelta(block: Record<string, unknown>, delta: Fields, input: (json: string) => void): void {
  switch (delta["type"]) {
    case "text_delta":
      block["text"] = text(block["text"]) + text(delta["text"]);
      return;
    case "thinking_delta":
      block["thinking"] = text(block["thinking"]) + text(delta["thinking"]);
      return;
    case "signature_delta":
      block["signature"] = text(block["signature"]) + text(delta["signature"]);
      return;
    case "citations_delta":
      block["citations"] = [...list(block["citations"]), delta["citation"]];
      return;
    case "input_json_delta":
      input(text(delta["partial_json"]));
      return;
    default:
      block["deltas"] = [...list(block["deltas"]), delta];
  }
}

function takeBlock(gathering: Gathering, block: Fields): void {
  switch (block["type"]) {
    case "text":
      gathering.say("text", block["text"]);
      for (const citation of list(block["citations"])) gathering.extra(citation);
      return;
    case "thinking":
      gathering.say("thinking", block["thinking"]);
      gathering.seal("signature", block["signature"]);
      return;
    case "redacted_thinking":
      gathering.seal("redacted", block["data"]);
      return;
    case "tool_use":
      gathering.call({
        id: text(block["id"]) || undefined,
        name: text(block["name"]),
        input: block["input"],
      });
      return;
    default:
      gathering.extra(block);
  }
}

/** Anthropic counts beside the input what a cache gave and took, and beside all of it what compacting took. */
function readUsage(value: unknown): Usage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const usage = fields(value);
  const steps = list(usage["iterations"]).map(fields);
  const counted = [usage, ...steps.filter(({ type }) => type === "compaction")];
  const sum = (key: string): number => counted.reduce((before, step) => before + count(step[key]), 0);
  const cached = sum("cache_read_input_tokens");
  const cacheWritten = sum("cache_creation_input_tokens");
  return {
    input: sum("input_tokens") + cached + cacheWritten,
    output: sum("output_tokens"),
    cached,
    cacheWritten,
    reasoning: count(fields(usage["output_tokens_details"])["thinking_tokens"]),
  };
}

import { type Asked, type Part, settled, type Turn } from "./conversation.ts";
import { type Fields, fields, list, parse, parseOrText, text } from "./values.ts";

/** Reads a request of one API from its body. */
export type RequestReader = (body: string) => Asked;

export const number = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
export const flag = (value: unknown): boolean | undefined => (typeof value === "boolean" ? value : undefined);
export const texts = (value: unknown): string[] =>
  (typeof value === "string" ? [value] : list(value)).filter((one) => typeof one === "string");

/** A `data:` URL, or one of the web. */
function pointed(kind: "image" | "document", url: string): Part {
  const [, media, data] = /^data:([^;]*);base64,(.*)$/su.exec(url) ?? [];
  return media === undefined ? { kind, url } : { kind, media, data: data ?? "" };
}

/** Of a chat completion. */
export const readChatAsked: RequestReader = (body) => {
  const asked = fields(parse(body));
  const system: string[] = [];
  const turns: Turn[] = [];
  for (const value of list(asked["messages"])) {
    const message = fields(value);
    const { role } = message;
    if (role === "system" || role === "developer") system.push(text(message["content"]));
    else if (role === "tool") {
      const told = text(message["content"]);
      const failed = told.startsWith("[tool error] ");
      turns.push({
        role: "user",
        parts: [
          {
            kind: "result",
            id: text(message["tool_call_id"]),
            text: told.replace(/^\[tool error\] /u, ""),
            failed,
          },
        ],
      });
    } else turns.push({ role: role === "user" ? "user" : "assistant", parts: chatParts(message) });
  }
  const tools = list(asked["tools"]).map((value) => {
    const { name, description, parameters } = fields(fields(value)["function"]);
    return { name: text(name), description: text(description), schema: parameters };
  });
  const choice = asked["tool_choice"];
  return {
    system,
    turns: settled(turns),
    tools,
    choice:
      typeof choice === "object"
        ? { name: text(fields(fields(choice)["function"])["name"]) }
        : (choice as Asked["choice"]),
    parallel: flag(asked["parallel_tool_calls"]),
    maxTokens: number(asked["max_completion_tokens"] ?? asked["max_tokens"]),
    temperature: number(asked["temperature"]),
    topP: number(asked["top_p"]),
    topK: number(asked["top_k"]),
    stop: texts(asked["stop"]),
    schema: fields(fields(asked["response_format"])["json_schema"])["schema"],
  };
};

function chatParts(message: Fields): Part[] {
  const parts: Part[] = [];
  for (const value of list(message["reasoning_details"])) {
    const { type, data, signature, ...detail } = fields(value);
    if (type === "reasoning.encrypted") parts.push({ kind: "redacted", data: text(data) });
    else parts.push({ kind: "thinking", text: text(detail["text"]), signature: text(signature) });
  }
  const { content } = message;
  if (typeof content === "string" && content !== "") parts.push({ kind: "text", text: content });
  for (const value of list(content)) {
    const part = fields(value);
    if (part["type"] === "text") parts.push({ kind: "text", text: text(part["text"]) });
    else if (part["type"] === "image_url") {
      const shown = part["image_url"];
      parts.push(pointed("image", text(fields(shown)["url"] ?? shown)));
    } else if (part["type"] === "input_audio") {
      const { format, data } = fields(part["input_audio"]);
      parts.push({ kind: "document", media: `audio/${text(format)}`, data: text(data) });
    } else parts.push(pointed("document", text(fields(part["file"])["file_data"])));
  }
  for (const value of list(message["tool_calls"])) {
    const call = fields(value);
    const { name, arguments: json } = fields(call["function"]);
    parts.push({ kind: "call", id: text(call["id"]), name: text(name), input: parseOrText(text(json)) });
  }
  return parts;
}

/** Of Anthropic's messages. */
export const readMessagesAsked: RequestReader = (body) => {
  const asked = fields(parse(body));
  const { type, name, disable_parallel_tool_use: single } = fields(asked["tool_choice"]);
  return {
    system:
      typeof asked["system"] === "string"
        ? [asked["system"]]
        : list(asked["system"]).map((block) => text(fields(block)["text"])),
    turns: settled(
      list(asked["messages"]).map((value) => {
        const { role, content } = fields(value);
        const blocks = typeof content === "string" ? [{ type: "text", text: content }] : list(content);
        return { role: role as Turn["role"], parts: blocks.map((block) => messagesPart(fields(block))) };
      }),
    ),
    tools: list(asked["tools"]).map((value) => {
      const tool = fields(value);
      return {
        name: text(tool["name"]),
        description: text(tool["description"]),
        schema: tool["input_schema"],
      };
    }),
    choice: choiceOf(type, name),
    parallel: typeof single === "boolean" ? !single : undefined,
    maxTokens: number(asked["max_tokens"]),
    temperature: number(asked["temperature"]),
    topP: number(asked["top_p"]),
    topK: number(asked["top_k"]),
    stop: texts(asked["stop_sequences"]),
    schema: fields(fields(asked["output_config"])["format"] ?? asked["output_format"])["schema"],
  };
};

/** Anthropic's words for whether tools are called. */
export function choiceOf(type: unknown, name: unknown): Asked["choice"] {
  if (type === "tool") return { name: text(name) };
  return type === "any" ? "required" : (type as Asked["choice"]);
}

function messagesPart(block: Fields): Part {
  const source = fields(block["source"]);
  switch (block["type"]) {
    case "image":
    case "document":
      return source["type"] === "url"
        ? { kind: block["type"], url: text(source["url"]) }
        : { kind: block["type"], media: text(source["media_type"]), data: text(source["data"]) };
    case "thinking":
      return { kind: "thinking", text: text(block["thinking"]), signature: text(block["signature"]) };
    case "redacted_thinking":
      return { kind: "redacted", data: text(block["data"]) };
    case "tool_use":
      return { kind: "call", id: text(block["id"]), name: text(block["name"]), input: block["input"] };
    case "tool_result": {
      const { content } = block;
      const told =
        typeof content === "string"
          ? content
          : list(content)
              .map((part) => text(fields(part)["text"]))
              .join("\n");
      return {
        kind: "result",
        id: text(block["tool_use_id"]),
        text: told,
        failed: block["is_error"] === true,
      };
    }
    default:
      return {
        kind: "text",
        text: text(block["text"]),
        ...("cache_control" in block ? { cached: true } : {}),
      };
  }
}

/** Of a response of OpenAI's API. */
export const readResponsesAsked: RequestReader = (body) => {
  const asked = fields(parse(body));
  const system = texts(asked["instructions"]);
  const turns: Turn[] = [];
  const items =
    typeof asked["input"] === "string" ? [{ role: "user", content: asked["input"] }] : list(asked["input"]);
  for (const value of items) {
    const item = fields(value);
    const { role } = item;
    if (role === "system" || role === "developer") system.push(responsesText(item["content"]));
    else {
      const mine = role === "user" || item["type"] === "function_call_output" ? "user" : "assistant";
      turns.push({ role: mine, parts: responsesParts(item) });
    }
  }
  const choice = asked["tool_choice"];
  return {
    system,
    turns: settled(turns),
    tools: list(asked["tools"]).map((value) => {
      const tool = fields(value);
      return { name: text(tool["name"]), description: text(tool["description"]), schema: tool["parameters"] };
    }),
    choice: typeof choice === "object" ? { name: text(fields(choice)["name"]) } : (choice as Asked["choice"]),
    parallel: flag(asked["parallel_tool_calls"]),
    maxTokens: number(asked["max_output_tokens"]),
    temperature: number(asked["temperature"]),
    topP: number(asked["top_p"]),
    topK: undefined,
    stop: [],
    schema: fields(fields(asked["text"])["format"])["schema"],
  };
};

function responsesText(content: unknown): string {
  return typeof content === "string"
    ? content
    : list(content)
        .map((part) => text(fields(part)["text"]))
        .join("");
}

function responsesParts(item: Fields): Part[] {
  switch (item["type"]) {
    case "function_call":
      return [
        {
          kind: "call",
          id: text(item["call_id"]),
          name: text(item["name"]),
          input: parseOrText(text(item["arguments"])),
        },
      ];
    case "function_call_output":
      return [
        { kind: "result", id: text(item["call_id"]), text: responsesText(item["output"]), failed: false },
      ];
    // Encrypted by OpenAI for itself: no other reads it.
    case "reasoning":
      return [];
    default:
  }
  const { content } = item;
  const parts = typeof content === "string" ? [{ type: "input_text", text: content }] : list(content);
  return parts.map((value) => {
    const part = fields(value);
    if (part["type"] === "input_image") return pointed("image", text(part["image_url"]));
    if (part["type"] === "input_file")
      return pointed("document", text(part["file_data"] ?? part["file_url"]));
    return { kind: "text", text: text(part["text"]) || text(part["refusal"]) };
  });
}

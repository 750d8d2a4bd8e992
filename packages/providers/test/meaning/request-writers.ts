import type { Asked, Part, Turn } from "./conversation.ts";

/** The request as a caller of chat writes it. */
export function writeChat(asked: Asked): object {
  const leading = asked.system.slice(0, asked.system.length - asked.turns.filter(isLate).length);
  return {
    model: "g",
    messages: [
      ...leading.map((content, place) => ({ role: place % 2 === 0 ? "system" : "developer", content })),
      ...asked.turns.flatMap(chatMessages),
    ],
    ...(asked.tools.length > 0
      ? {
          tools: asked.tools.map(({ name, description, schema: parameters }) => ({
            type: "function",
            function: { name, description, parameters },
          })),
        }
      : {}),
    tool_choice:
      typeof asked.choice === "object" ? { type: "function", function: asked.choice } : asked.choice,
    parallel_tool_calls: asked.parallel,
    max_completion_tokens: asked.maxTokens,
    temperature: asked.temperature,
    top_p: asked.topP,
    stop: asked.stop.length === 1 ? asked.stop[0] : asked.stop.length === 0 ? undefined : asked.stop,
    response_format:
      asked.schema === undefined
        ? undefined
        : { type: "json_schema", json_schema: { name: "answer", schema: asked.schema, strict: true } },
  };
}

function isLate({ role }: Turn): boolean {
  return role === "system";
}

function chatMessages({ role, parts }: Turn): object[] {
  if (role === "system")
    return parts.map((part) => ({ role, content: part.kind === "text" ? part.text : "" }));
  const results = parts.flatMap((part) =>
    part.kind === "result" ? [{ role: "tool", tool_call_id: part.id, content: part.text }] : [],
  );
  if (role === "user") {
    const shown = parts.filter(({ kind }) => kind !== "result").map(chatPart);
    return shown.length === 0 ? results : [...results, { role, content: shown }];
  }
  const calls = parts.flatMap((part) =>
    part.kind === "call"
      ? [
          {
            id: part.id,
            type: "function",
            function: { name: part.name, arguments: JSON.stringify(part.input) },
          },
        ]
      : [],
  );
  const details = parts.flatMap((part, index) => thinkingDetail(part, index));
  const texts = parts.flatMap((part) => (part.kind === "text" ? [part.text] : []));
  return [
    {
      role,
      content: texts.length === 0 ? null : texts.join(""),
      ...(details.length > 0 ? { reasoning_details: details } : {}),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    },
  ];
}

function thinkingDetail(part: Part, index: number): object[] {
  const format = "anthropic-claude-v1";
  if (part.kind === "thinking")
    return [{ type: "reasoning.text", text: part.text, signature: part.signature, format, index }];
  return part.kind === "redacted" ? [{ type: "reasoning.encrypted", data: part.data, format, index }] : [];
}

function chatPart(part: Part): object {
  if (part.kind === "text") return { type: "text", text: part.text, ...mark(part.cached) };
  if ("url" in part) return { type: "image_url", image_url: { url: part.url } };
  if (!("media" in part)) throw new Error(`a user says no ${part.kind}`);
  const url = `data:${part.media};base64,${part.data}`;
  return part.kind === "image"
    ? { type: "image_url", image_url: { url } }
    : { type: "file", file: { filename: "a.pdf", file_data: url } };
}

function mark(cached: boolean | undefined): object {
  return cached === true ? { cache_control: { type: "ephemeral" } } : {};
}

/** The request as a caller of messages writes it. */
export function writeMessages(asked: Asked): object {
  const { choice, parallel } = asked;
  const disable_parallel_tool_use = parallel === undefined ? undefined : !parallel;
  const type = choice === "required" ? "any" : typeof choice === "object" ? "tool" : (choice ?? "auto");
  const name = typeof choice === "object" ? choice.name : undefined;
  const tool_choice =
    choice === undefined && parallel === undefined
      ? undefined
      : { type, name, disable_parallel_tool_use: type === "none" ? undefined : disable_parallel_tool_use };
  return {
    model: "g",
    system: asked.system.length === 0 ? undefined : asked.system.map((text) => ({ type: "text", text })),
    messages: asked.turns
      .map(({ role, parts }) => ({ role, content: parts.map(messagesBlock) }))
      .filter(({ content }) => content.length > 0),
    ...(asked.tools.length > 0
      ? {
          tools: asked.tools.map(({ name: called, description, schema: input_schema }) => ({
            name: called,
            description,
            input_schema,
          })),
        }
      : {}),
    tool_choice,
    max_tokens: asked.maxTokens,
    temperature: asked.temperature,
    top_p: asked.topP,
    top_k: asked.topK,
    stop_sequences: asked.stop.length === 0 ? undefined : asked.stop,
    output_config:
      asked.schema === undefined ? undefined : { format: { type: "json_schema", schema: asked.schema } },
  };
}

function messagesBlock(part: Part): object {
  switch (part.kind) {
    case "text":
      return { type: "text", text: part.text, ...mark(part.cached) };
    case "image":
    case "document": {
      const source =
        "url" in part
          ? { type: "url", url: part.url }
          : { type: "base64", media_type: part.media, data: part.data };
      return { type: part.kind, source };
    }
    case "thinking":
      return { type: "thinking", thinking: part.text, signature: part.signature };
    case "redacted":
      return { type: "redacted_thinking", data: part.data };
    case "call":
      return { type: "tool_use", id: part.id, name: part.name, input: part.input };
    case "result":
      return {
        type: "tool_result",
        tool_use_id: part.id,
        content: part.text,
        ...(part.failed ? { is_error: true } : {}),
      };
  }
}

/** The request as a caller of responses writes it. */
export function writeResponses(asked: Asked): object {
  const [instructions, ...more] = asked.system.slice(
    0,
    asked.system.length - asked.turns.filter(isLate).length,
  );
  return {
    model: "g",
    store: false,
    instructions,
    input: [
      ...more.map((content) => ({ role: "developer", content })),
      ...asked.turns.flatMap(({ role, parts }) => parts.map((part) => responsesItem(role, part))),
    ],
    ...(asked.tools.length > 0
      ? {
          tools: asked.tools.map(({ name, description, schema: parameters }) => ({
            type: "function",
            name,
            description,
            parameters,
            strict: true,
          })),
        }
      : {}),
    tool_choice: typeof asked.choice === "object" ? { type: "function", ...asked.choice } : asked.choice,
    parallel_tool_calls: asked.parallel,
    max_output_tokens: asked.maxTokens,
    temperature: asked.temperature,
    top_p: asked.topP,
    text:
      asked.schema === undefined
        ? undefined
        : { format: { type: "json_schema", name: "answer", schema: asked.schema, strict: true } },
  };
}

function responsesItem(role: Turn["role"], part: Part): object {
  switch (part.kind) {
    case "text":
      return role === "assistant"
        ? { type: "message", role, content: [{ type: "output_text", text: part.text, annotations: [] }] }
        : { type: "message", role, content: [{ type: "input_text", text: part.text }] };
    case "image":
    case "document": {
      const url = "url" in part ? part.url : `data:${part.media};base64,${part.data}`;
      const shown =
        part.kind === "image"
          ? { type: "input_image", image_url: url, detail: "auto" }
          : { type: "input_file", filename: "a.pdf", file_data: url };
      return { type: "message", role, content: [shown] };
    }
    case "thinking":
      return {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: part.text }],
        encrypted_content: `anthropic-claude-v1.signature.${part.signature}`,
      };
    case "redacted":
      return {
        type: "reasoning",
        id: "rs_1",
        summary: [],
        encrypted_content: `anthropic-claude-v1.redacted.${part.data}`,
      };
    case "call":
      return {
        type: "function_call",
        call_id: part.id,
        name: part.name,
        arguments: JSON.stringify(part.input),
      };
    case "result":
      return { type: "function_call_output", call_id: part.id, output: part.text };
  }
}

import { decodeBase64 } from "../../json/base64.ts";
import { type Json, type JsonObject, numberOf } from "../../json/lossless.ts";
import { decodeUtf8 } from "../../json/text.ts";
import type {
  Block,
  NeutralRequest,
  RedactedBlock,
  Source,
  TextBlock,
  ThinkingBlock,
  Tool,
  Turn,
} from "../../neutral/request.ts";
import { writtenTurns } from "../../neutral/written-turns.ts";
import { plainId } from "../../translate/call-id.ts";
import { notTranslatable } from "../../translate/fault.ts";
import { Fields } from "../../translate/fields.ts";
import { describedSchema } from "../../translate/described-schema.ts";
import type { Target } from "../format.ts";
import { withTurn } from "../../translate/with-turn.ts";
import { claudeSampling } from "./sampling.ts";
import { isThinking, writeThinking } from "./thinking-wish.ts";

/** Writes a body of Anthropic's messages endpoint. */
export function writeMessagesRequest(asked: NeutralRequest, target: Target): Json {
  const request = withTurn(asked);
  const { format } = request;
  if (format?.kind === "json")
    throw notTranslatable("response_format", "JSON without a schema can't be asked for there");
  const extras = new Fields(request.extras, "");
  const cacheControl = extras.take("cache_control");
  extras.refuseRest("it has no counterpart there");
  const maxTokens = request.maxTokens ?? defaultMaxTokens(target.model);
  const { thinking, effort } = writeThinking(request, target.model, numberOf(maxTokens));
  const sampling = claudeSampling(request, target.model, isThinking(thinking));
  const system = [...request.system, ...request.turns.flatMap(systemBlocks)].filter(
    ({ text }) => text.trim() !== "",
  );
  return {
    model: target.model,
    max_tokens: maxTokens,
    system: system.length > 0 ? system.map(writeText) : undefined,
    messages: writtenTurns(request.turns, writeBlock).map(({ role, content }) => ({ role, content })),
    temperature: sampling.temperature,
    top_p: sampling.topP,
    top_k: sampling.topK,
    stop_sequences: request.stop.length > 0 ? request.stop : undefined,
    tools: request.tools.length > 0 ? request.tools.map(writeTool) : undefined,
    tool_choice: request.tools.length > 0 ? writeToolChoice(request) : undefined,
    thinking,
    output_config:
      format === undefined && effort === undefined
        ? undefined
        : {
            format:
              format === undefined ? undefined : { type: "json_schema", schema: describedSchema(format) },
            effort,
          },
    metadata: request.user === undefined ? undefined : { user_id: request.user },
    service_tier: request.serviceTier === "standard" ? "standard_only" : undefined,
    cache_control: cacheControl,
    stream: request.stream || undefined,
  };
}

/** The API needs a bound; chat's callers often give none. This is the most that every model of the age can say. */
export function defaultMaxTokens(model: string): number {
  if (/claude-(?:2|instant|3-(?:opus|sonnet|haiku))/u.test(model)) return 4096;
  return /claude-3-5/u.test(model) ? 8192 : 32_000;
}

/** Instructions between turns have no place of their own, so they join those before: their weight counts for more than their place. */
function systemBlocks(turn: Turn): readonly TextBlock[] {
  return turn.role === "system" ? (turn.blocks as readonly TextBlock[]) : [];
}

function writeText(block: TextBlock): JsonObject {
  return { type: "text", text: block.text, cache_control: block.cacheControl };
}

function writeBlock(block: Block): JsonObject[] {
  const cache = { cache_control: block.cacheControl };
  switch (block.kind) {
    case "text":
      // The API refuses blank text.
      return block.text.trim() === "" ? [] : [writeText(block)];
    case "image":
      return [{ type: "image", source: writeSource(block.source), ...cache }];
    case "document":
      return [
        {
          type: "document",
          source: writeDocumentSource(block.source),
          title: block.title,
          citations: block.cited ? { enabled: true } : undefined,
          ...cache,
        },
      ];
    case "thinking":
      // Thinking that is unsigned, or that another vendor signed, would make the API refuse the conversation.
      return block.signature === undefined || !isOwn(block)
        ? []
        : [{ type: "thinking", thinking: block.text, signature: block.signature }];
    case "redacted":
      return isOwn(block) ? [{ type: "redacted_thinking", data: block.data }] : [];
    case "tool_call":
      return [{ type: "tool_use", id: plainId(block.id), name: block.name, input: block.input, ...cache }];
    case "tool_result":
      return [
        {
          type: "tool_result",
          tool_use_id: plainId(block.id),
          content: block.content.flatMap(writeBlock),
          is_error: block.isError || undefined,
          ...cache,
        },
      ];
    case "audio":
      throw notTranslatable(block.path, "audio can't be heard there");
    case "other":
      throw notTranslatable(block.path, `a '${block.type}' block has no counterpart there`);
  }
}

/** Whether Anthropic itself thought it. */
function isOwn({ format }: ThinkingBlock | RedactedBlock): boolean {
  return format === undefined || format === "anthropic-claude-v1";
}

function writeSource(source: Source): JsonObject {
  switch (source.kind) {
    case "url":
      return { type: "url", url: source.url };
    case "base64":
      return { type: "base64", media_type: source.mediaType, data: source.data };
    case "text":
      return { type: "text", media_type: "text/plain", data: source.text };
  }
}

function writeDocumentSource(source: Source): JsonObject {
  if (source.kind !== "base64" || !source.mediaType.startsWith("text/")) return writeSource(source);
  const bytes = decodeBase64(source.data);
  return bytes === undefined
    ? writeSource(source)
    : { type: "text", media_type: "text/plain", data: decodeUtf8(bytes, 0, bytes.length) };
}

function writeTool(tool: Tool): Json {
  const { name, description, schema, strict, cacheControl } = tool;
  return {
    name,
    description,
    input_schema: schema["type"] === undefined ? { type: "object", ...schema } : schema,
    strict: strict === true ? true : undefined,
    cache_control: cacheControl,
  };
}

/** The table of BH-23. */
function writeToolChoice({ toolChoice, parallelTools }: NeutralRequest): Json | undefined {
  const disabled = parallelTools === false ? { disable_parallel_tool_use: true } : {};
  if (toolChoice === undefined) return parallelTools === false ? { type: "auto", ...disabled } : undefined;
  switch (toolChoice.mode) {
    case "none":
      return { type: "none" };
    case "auto":
      return { type: "auto", ...disabled };
    case "required":
      return { type: "any", ...disabled };
    case "tool":
      return { type: "tool", name: toolChoice.name, ...disabled };
  }
}

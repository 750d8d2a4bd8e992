import { isJsonNumber, isJsonObject, type Json, numberOf } from "../../json/lossless.ts";
import type {
  AnswerFormat,
  Effort,
  NeutralRequest,
  Reasoning,
  Tool,
  ToolChoice,
  Turn,
} from "../../neutral/request.ts";
import { invalidField, NO_COUNTERPART, notTranslatable } from "../../translate/fault.ts";
import { type Fields, fieldsAt } from "../../translate/fields.ts";
import { readBlocks, readTextBlocks } from "./request-blocks.ts";

const EFFORTS: ReadonlySet<string> = new Set(["low", "medium", "high", "xhigh", "max"]);

/** Reads a body of Anthropic's messages endpoint. */
export function readMessagesRequest(body: Json): NeutralRequest {
  const fields = fieldsAt(body, "");
  fields.take("model");
  const maxTokens = fields.number("max_tokens");
  if (maxTokens === undefined) throw invalidField("max_tokens", "is required");
  const choice = fields.fields("tool_choice");
  const output = fields.fields("output_config");
  const format = readFormat(output?.fields("format") ?? fields.fields("output_format"));
  const effort = output?.text("effort");
  if (effort !== undefined && !EFFORTS.has(effort))
    throw invalidField("output_config.effort", "is not known");
  output?.refuseRest(NO_COUNTERPART);
  const metadata = fields.fields("metadata");
  readContextManagement(fields);
  const read = {
    system: readTextBlocks(fields, "system"),
    turns: fields.items("messages").map(readTurn),
    tools: fields.items("tools").map(readTool),
    toolChoice: choice === undefined ? undefined : readToolChoice(choice),
    parallelTools: readParallel(choice),
    maxTokens,
    temperature: fields.number("temperature"),
    topP: fields.number("top_p"),
    topK: fields.number("top_k"),
    stop: fields.texts("stop_sequences"),
    format,
    reasoning: readThinking(fields.fields("thinking"), effort as Effort | undefined),
    user: metadata?.text("user_id"),
    serviceTier: readTier(fields),
    stream: fields.flag("stream") ?? false,
  };
  metadata?.refuseRest(NO_COUNTERPART);
  return { ...read, extras: fields.rest() };
}

function readTurn(message: Fields): Turn {
  const role = message.needText("role");
  if (role !== "user" && role !== "assistant" && role !== "system") {
    throw invalidField(message.at("role"), "must be user or assistant");
  }
  const blocks = role === "system" ? readTextBlocks(message, "content") : readBlocks(message, "content");
  message.refuseRest(NO_COUNTERPART);
  return { role, path: message.path, blocks };
}

/** What clears thinking of earlier turns is for the vendor that takes it back. Other edits change what the model is told. */
function readContextManagement(fields: Fields): void {
  const management = fields.fields("context_management");
  if (management === undefined) return;
  for (const edit of management.items("edits")) {
    if (edit.text("type") !== "clear_thinking_20251015")
      throw notTranslatable(management.path, NO_COUNTERPART, "beta_header:context-management-2025-06-27");
  }
  management.refuseRest(NO_COUNTERPART);
}

function readTool(tool: Fields): Tool {
  const type = tool.text("type") ?? "custom";
  if (type !== "custom")
    throw notTranslatable(tool.path, `the tool '${type.slice(0, 60)}' is run by its vendor`);
  // How arguments are cut into pieces, not what they are; when a definition is loaded: where tools can't be searched for, at once.
  for (const key of ["eager_input_streaming", "defer_loading"]) tool.take(key);
  const schema = tool.take("input_schema");
  if (!isJsonObject(schema)) throw invalidField(tool.at("input_schema"), "must be an object");
  const read: Tool = {
    path: tool.path,
    cacheControl: tool.take("cache_control"),
    name: tool.needText("name"),
    description: tool.text("description"),
    schema,
    strict: tool.flag("strict"),
  };
  tool.refuseRest(NO_COUNTERPART);
  return read;
}

function readToolChoice(choice: Fields): ToolChoice {
  const type = choice.needText("type");
  switch (type) {
    case "auto":
    case "none":
      return { mode: type };
    case "any":
      return { mode: "required" };
    case "tool":
      return { mode: "tool", name: choice.needText("name") };
    default:
      throw invalidField(choice.at("type"), "must be auto, any, tool or none");
  }
}

/** BH-23: a flag that the caller did not send changes nothing. */
function readParallel(choice: Fields | undefined): boolean | undefined {
  const disabled = choice?.flag("disable_parallel_tool_use");
  return disabled === undefined ? undefined : !disabled;
}

function readFormat(format: Fields | undefined): AnswerFormat | undefined {
  if (format === undefined) return undefined;
  if (format.needText("type") !== "json_schema") throw notTranslatable(format.at("type"), NO_COUNTERPART);
  const schema = format.take("schema");
  if (!isJsonObject(schema)) throw invalidField(format.at("schema"), "must be an object");
  return { kind: "schema", schema, name: undefined };
}

/** Effort alone asks for no thinking. */
function readThinking(thinking: Fields | undefined, effort: Effort | undefined): Reasoning | undefined {
  if (thinking === undefined) {
    return effort === undefined
      ? undefined
      : {
          path: "output_config.effort",
          off: false,
          effort,
          budget: undefined,
          anthropic: { thinks: false, display: undefined },
        };
  }
  const type = thinking.needText("type");
  const budget = thinking.take("budget_tokens");
  if (type === "enabled" && !isJsonNumber(budget))
    throw invalidField("thinking.budget_tokens", "is required");
  if (type !== "enabled" && type !== "adaptive" && type !== "disabled") {
    throw notTranslatable(thinking.at("type"), NO_COUNTERPART);
  }
  const display = thinking.text("display");
  thinking.refuseRest(NO_COUNTERPART);
  return {
    path: thinking.path,
    off: type === "disabled",
    effort,
    budget: isJsonNumber(budget) ? numberOf(budget) : undefined,
    anthropic: { thinks: true, display },
  };
}

function readTier(fields: Fields): NeutralRequest["serviceTier"] {
  const tier = fields.text("service_tier");
  if (tier === undefined || tier === "auto") return undefined;
  if (tier === "standard_only") return "standard";
  throw notTranslatable(fields.at("service_tier"), NO_COUNTERPART);
}

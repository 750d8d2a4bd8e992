import {
  isJsonList,
  isJsonNumber,
  isJsonObject,
  type Json,
  type JsonObject,
  numberOf,
} from "../../json/lossless.ts";
import type {
  AnswerFormat,
  Block,
  Effort,
  NeutralRequest,
  Reasoning,
  TextBlock,
  Tool,
  ToolResultBlock,
  Turn,
} from "../../neutral/request.ts";
import { invalidField, NO_COUNTERPART, notTranslatable } from "../../translate/fault.ts";
import { type Fields, fieldsAt } from "../../translate/fields.ts";
import { EFFORTS, onlyText, readSchemaFormat, readTier, readToolChoice } from "./request-fields.ts";
import { readContent, readReasoning, readToolCalls } from "./request-parts.ts";

/** Hints and bookkeeping that change no answer: a target without them answers the same. */
const HINTS: readonly string[] = [
  "model",
  "stream_options",
  "prompt_cache_key",
  "prompt_cache_retention",
  "include_reasoning",
];

/** Reads a chat completion's body. */
export function readChatRequest(body: Json): NeutralRequest {
  const fields = fieldsAt(body, "");
  for (const key of HINTS) fields.take(key);
  const turns = fields.items("messages").flatMap((message) => readMessage(message));
  const firstTurn = turns.findIndex(({ role }) => role !== "system");
  const leading = firstTurn < 0 ? turns : turns.slice(0, firstTurn);
  const stop = fields.texts("stop");
  const maxTokens = fields.number("max_completion_tokens");
  const olderMaxTokens = fields.number("max_tokens");
  const metadata = fields.fields("metadata");
  const read = {
    system: leading.flatMap(({ blocks }) => blocks as TextBlock[]),
    turns: firstTurn < 0 ? [] : turns.slice(firstTurn),
    tools: fields.items("tools").map(readTool),
    toolChoice: readToolChoice(fields, chosenName),
    parallelTools: fields.flag("parallel_tool_calls"),
    maxTokens: maxTokens ?? olderMaxTokens,
    temperature: fields.number("temperature"),
    topP: fields.number("top_p"),
    topK: fields.number("top_k"),
    stop,
    format: readFormat(fields),
    reasoning: readReasoningWish(fields),
    user: readUser(fields, metadata),
    serviceTier: readTier(fields),
    stream: fields.flag("stream") ?? false,
  };
  return { ...read, extras: readExtras(fields) };
}

function readMessage(message: Fields): Turn[] {
  const role = message.needText("role");
  const { path } = message;
  const turn = readTurn(message, role);
  const cacheControl = message.take("cache_control");
  const last = turn.blocks.at(-1);
  const blocks =
    cacheControl === undefined || last === undefined
      ? turn.blocks
      : [...turn.blocks.slice(0, -1), { ...last, cacheControl }];
  message.refuseRest(NO_COUNTERPART);
  return [{ role: turn.role, path, blocks }];
}

function readTurn(message: Fields, role: string): { role: Turn["role"]; blocks: Block[] } {
  switch (role) {
    case "system":
    case "developer":
      return { role: "system", blocks: onlyText(readContent(message, "content")) };
    case "user":
      return { role: "user", blocks: readContent(message, "content") };
    case "assistant":
      return { role: "assistant", blocks: readAssistant(message) };
    case "tool":
      return { role: "user", blocks: [readToolResult(message)] };
    default:
      throw notTranslatable(message.at("role"), `there is no role '${role.slice(0, 40)}' there`);
  }
}

function readAssistant(message: Fields): Block[] {
  // What answers carry beside their message and clients give back with it.
  for (const key of ["annotations", "provider_specific", "index"]) message.take(key);
  const refusal = message.text("refusal");
  const refused: Block[] =
    refusal === undefined || refusal === ""
      ? []
      : [{ kind: "text", text: refusal, path: message.at("refusal") }];
  return [
    ...readReasoning(message),
    ...readContent(message, "content"),
    ...refused,
    ...readToolCalls(message),
  ];
}

function readToolResult(message: Fields): ToolResultBlock {
  message.take("name");
  const content = readContent(message, "content").map((block) => {
    if (block.kind === "text" || block.kind === "image" || block.kind === "document") return block;
    throw notTranslatable(block.path, "a tool's result can't hold it there");
  });
  return {
    kind: "tool_result",
    path: message.path,
    id: message.needText("tool_call_id"),
    content,
    isError: false,
  };
}

function readTool(tool: Fields): Tool {
  const type = tool.needText("type");
  if (type !== "function") throw notTranslatable(tool.at("type"), `there is no '${type.slice(0, 40)}' there`);
  const declared = tool.fields("function");
  if (declared === undefined) throw invalidField(tool.at("function"), "is required");
  const schema = declared.take("parameters");
  if (schema !== undefined && !isJsonObject(schema))
    throw invalidField(declared.at("parameters"), "must be an object");
  const read: Tool = {
    path: tool.path,
    cacheControl: tool.take("cache_control") ?? declared.take("cache_control"),
    name: declared.needText("name"),
    description: declared.text("description"),
    schema: schema ?? { type: "object", properties: {} },
    strict: declared.flag("strict"),
  };
  declared.refuseRest(NO_COUNTERPART);
  tool.refuseRest(NO_COUNTERPART);
  return read;
}

function chosenName(named: Fields): string {
  const target = named.fields("function");
  if (target === undefined) throw invalidField(named.at("function"), "is required");
  return target.needText("name");
}

function readFormat(fields: Fields): AnswerFormat | undefined {
  const format = fields.fields("response_format");
  if (format === undefined) return undefined;
  const type = format.needText("type");
  if (type === "text") return undefined;
  if (type === "json_object") return { kind: "json" };
  if (type !== "json_schema") throw notTranslatable(format.at("type"), NO_COUNTERPART);
  const wanted = format.fields("json_schema");
  const schema = wanted?.take("schema");
  if (wanted === undefined || !isJsonObject(schema))
    throw invalidField(format.at("json_schema.schema"), "must be an object");
  const read = readSchemaFormat(wanted, schema);
  wanted.refuseRest(NO_COUNTERPART);
  format.refuseRest(NO_COUNTERPART);
  return read;
}

/** `reasoning_effort`, and what OpenRouter's and LiteLLM's callers say for it. */
function readReasoningWish(fields: Fields): Reasoning | undefined {
  const wish = fields.fields("reasoning");
  const thinking = fields.fields("thinking");
  wish?.take("exclude");
  // Groq's: reasoning beside the answer is how it comes anyway.
  const form = fields.text("reasoning_format");
  if (form !== undefined && form !== "parsed" && form !== "hidden")
    throw notTranslatable("reasoning_format", NO_COUNTERPART);
  const effort = fields.text("reasoning_effort") ?? wish?.text("effort");
  const budget = wish?.number("max_tokens") ?? thinking?.number("budget_tokens");
  const off = wish?.flag("enabled") === false || thinking?.text("type") === "disabled";
  wish?.refuseRest(NO_COUNTERPART);
  thinking?.take("type");
  thinking?.refuseRest(NO_COUNTERPART);
  if (effort !== undefined && !EFFORTS.has(effort)) throw invalidField("reasoning_effort", "is not known");
  if (effort === undefined && budget === undefined && wish === undefined && thinking === undefined)
    return undefined;
  return {
    path: (wish ?? thinking)?.path ?? "reasoning_effort",
    off: off || effort === "none",
    effort: effort as Effort | undefined,
    budget: budget === undefined ? undefined : numberOf(budget),
  };
}

function readUser(fields: Fields, metadata: Fields | undefined): string | undefined {
  const user = fields.text("user");
  const safety = fields.text("safety_identifier");
  const named = metadata?.take("user_id");
  return user ?? safety ?? (typeof named === "string" ? named : undefined);
}

/** Values that say what goes without saying. `metadata` is only kept with stored completions. */
function readExtras(fields: Fields): JsonObject {
  const says = (key: string, value: Json | undefined): boolean => {
    switch (key) {
      case "n":
        return value !== 1;
      case "logprobs":
      case "store":
        return value !== false;
      case "frequency_penalty":
      case "presence_penalty":
      case "top_logprobs":
        return !isJsonNumber(value) || numberOf(value) !== 0;
      case "logit_bias":
        return !isJsonObject(value) || Object.keys(value).length > 0;
      case "modalities":
        return !(isJsonList(value) && value.length === 1 && value[0] === "text");
      case "verbosity":
        return value !== "medium";
      default:
        return true;
    }
  };
  return Object.fromEntries(Object.entries(fields.rest()).filter(([key, value]) => says(key, value)));
}

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
  Effort,
  NeutralRequest,
  Reasoning,
  TextBlock,
  Tool,
} from "../../neutral/request.ts";
import { invalidField, NO_COUNTERPART, notTranslatable } from "../../translate/fault.ts";
import { type Fields, fieldsAt } from "../../translate/fields.ts";
import { EFFORTS, readSchemaFormat, readTier, readToolChoice } from "../openai/request-fields.ts";
import { flatName } from "./namespaces.ts";
import { readInput } from "./request-items.ts";

/**
 * Hints and bookkeeping that change no answer. `metadata` comes back with the answer; `store` can't be meant here (P8), and the answer says
 * that it was not kept; `max_tool_calls` bounds hosted tools, which are refused.
 */
const HINTS: readonly string[] = [
  "model",
  "metadata",
  "store",
  "stream_options",
  "prompt_cache_key",
  "prompt_cache_retention",
  "client_metadata",
  "max_tool_calls",
];

/** Reads the body of a response to be made. */
export function readResponsesRequest(body: Json): NeutralRequest {
  const fields = fieldsAt(body, "");
  for (const key of HINTS) fields.take(key);
  refuseStored(fields);
  readInclude(fields);
  const turns = readInput(fields);
  const firstTurn = turns.findIndex(({ role }) => role !== "system");
  const leading = firstTurn < 0 ? turns : turns.slice(0, firstTurn);
  const verbal = fields.fields("text");
  const read = {
    system: [...readInstructions(fields), ...leading.flatMap(({ blocks }) => blocks as TextBlock[])],
    turns: firstTurn < 0 ? [] : turns.slice(firstTurn),
    tools: fields.items("tools").flatMap(readTool),
    toolChoice: readToolChoice(fields, (named) => named.needText("name")),
    parallelTools: fields.flag("parallel_tool_calls"),
    maxTokens: fields.number("max_output_tokens"),
    temperature: fields.number("temperature"),
    topP: fields.number("top_p"),
    topK: undefined,
    stop: [],
    format: verbal === undefined ? undefined : readFormat(verbal),
    reasoning: readReasoningWish(fields),
    user: readUser(fields),
    serviceTier: readTier(fields),
    stream: fields.flag("stream") ?? false,
  };
  if (verbal !== undefined) readVerbosity(verbal);
  return { ...read, extras: readExtras(fields) };
}

/** What only the account that keeps it could serve; routing sends it there (P8), so here it is out of place. */
function refuseStored(fields: Fields): void {
  for (const key of ["previous_response_id", "conversation", "prompt"]) {
    if (fields.take(key) !== undefined)
      throw notTranslatable(fields.at(key), "it is kept by another provider");
  }
}

/** Parts of hosted tools' results are not there to be left out; token probabilities would be missed. */
function readInclude(fields: Fields): void {
  const wanted = fields.texts("include");
  if (wanted.includes("message.output_text.logprobs"))
    throw notTranslatable(fields.at("include"), NO_COUNTERPART);
  const top = fields.number("top_logprobs");
  if (top !== undefined && numberOf(top) !== 0)
    throw notTranslatable(fields.at("top_logprobs"), NO_COUNTERPART);
}

function readInstructions(fields: Fields): TextBlock[] {
  const text = fields.text("instructions");
  return text === undefined || text === "" ? [] : [{ kind: "text", text, path: fields.at("instructions") }];
}

function readTool(tool: Fields): Tool[] {
  const type = tool.needText("type");
  return type === "namespace" ? readNamespace(tool) : [readFunction(tool, type)];
}

/** Names are flat elsewhere, so each function carries its namespace in its name, and what is said of that in its description. */
function readNamespace(namespace: Fields): Tool[] {
  const name = namespace.needText("name");
  const about = namespace.text("description");
  const tools = namespace.items("tools").map((tool) => {
    const read = readFunction(tool, tool.needText("type"));
    const said = [about, read.description].filter((text) => text !== undefined && text !== "");
    return { ...read, name: flatName(name, read.name), description: said.join("\n\n") };
  });
  namespace.refuseRest(NO_COUNTERPART);
  return tools;
}

function readFunction(tool: Fields, type: string): Tool {
  if (type !== "function") {
    throw notTranslatable(tool.at("type"), `there is no '${type.slice(0, 40)}', only function tools`);
  }
  // When a definition is loaded: where tools can't be searched for, at once.
  tool.take("defer_loading");
  const schema = tool.take("parameters");
  if (schema !== undefined && !isJsonObject(schema))
    throw invalidField(tool.at("parameters"), "must be an object");
  const read: Tool = {
    path: tool.path,
    name: tool.needText("name"),
    description: tool.text("description"),
    schema: schema ?? { type: "object", properties: {} },
    strict: tool.flag("strict"),
  };
  tool.refuseRest(NO_COUNTERPART);
  return read;
}

function readFormat(verbal: Fields): AnswerFormat | undefined {
  const format = verbal.fields("format");
  if (format === undefined) return undefined;
  const type = format.needText("type");
  if (type === "text") return undefined;
  if (type === "json_object") return { kind: "json" };
  if (type !== "json_schema") throw notTranslatable(format.at("type"), NO_COUNTERPART);
  const schema = format.take("schema");
  if (!isJsonObject(schema)) throw invalidField(format.at("schema"), "must be an object");
  const read = readSchemaFormat(format, schema);
  format.refuseRest(NO_COUNTERPART);
  return read;
}

function readVerbosity(verbal: Fields): void {
  const verbosity = verbal.text("verbosity");
  if (verbosity !== undefined && verbosity !== "medium")
    throw notTranslatable(verbal.at("verbosity"), NO_COUNTERPART);
  verbal.refuseRest(NO_COUNTERPART);
}

/** `summary` says how thinking is to be shown; it is shown as it comes. */
function readReasoningWish(fields: Fields): Reasoning | undefined {
  const wish = fields.fields("reasoning");
  if (wish === undefined) return undefined;
  const effort = wish.text("effort");
  for (const key of ["summary", "generate_summary", "context", "mode"]) wish.take(key);
  wish.refuseRest(NO_COUNTERPART);
  if (effort === undefined) return undefined;
  if (!EFFORTS.has(effort)) throw invalidField(wish.at("effort"), "is not known");
  return { path: wish.at("effort"), off: effort === "none", effort: effort as Effort, budget: undefined };
}

function readUser(fields: Fields): string | undefined {
  const user = fields.text("user");
  const safety = fields.text("safety_identifier");
  return user ?? safety;
}

/** Values that say what goes without saying. */
function readExtras(fields: Fields): JsonObject {
  const says = (key: string, value: Json | undefined): boolean => {
    switch (key) {
      case "background":
        return value !== false;
      case "truncation":
        return value !== "disabled";
      case "frequency_penalty":
      case "presence_penalty":
        return !isJsonNumber(value) || numberOf(value) !== 0;
      case "context_management":
        return !isJsonList(value) || value.length > 0;
      default:
        return true;
    }
  };
  return Object.fromEntries(Object.entries(fields.rest()).filter(([key, value]) => says(key, value)));
}

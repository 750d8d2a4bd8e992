import { isJsonObject, type Json, type JsonObject, printJson } from "../../json/lossless.ts";
import type { NeutralRequest, TextBlock, Tool, Turn } from "../../neutral/request.ts";
import { writtenTurns } from "../../neutral/written-turns.ts";
import { invalidField, notTranslatable } from "../../translate/fault.ts";
import { Fields } from "../../translate/fields.ts";
import type { Target } from "../format.ts";
import { withTurn } from "../../translate/with-turn.ts";
import { betasFor } from "./betas.ts";
import { type Maker, makerOf, writeModelFields } from "./model-fields.ts";
import { BlockWriter, cachePoint } from "./request-blocks.ts";

/** Converse's own fields that callers of any dialect may send beside their own. */
const OWN_FIELDS = ["guardrailConfig", "performanceConfig", "requestMetadata"] as const;

/** What Bedrock takes as a value of `requestMetadata`. */
const METADATA = /^[a-zA-Z0-9\s:_@$#=/+,.-]{1,256}$/u;

/** Writes a body of `converse` and `converse-stream`, whose paths name the model. */
export function writeConverseRequest(asked: NeutralRequest, target: Target): Json {
  const request = withTurn(asked);
  if (request.format?.kind === "json")
    throw notTranslatable("response_format", "JSON without a schema can't be asked for there");
  const maker = makerOf(target.model);
  const extras = new Fields(request.extras, "");
  const own = Object.fromEntries(OWN_FIELDS.map((key) => [key, objectIn(extras, key)]));
  const added = objectIn(extras, "additionalModelRequestFields");
  const lastPoint = cachePoint(extras.take("cache_control"));
  extras.refuseRest("it has no counterpart there");
  const { sampling, fields, maxTokens } = writeModelFields(request, target.model);
  const tools = writeTools(request, maker);
  const writer = new BlockWriter(maker === "claude");
  const messages = writtenTurns(request.turns, (block) => writer.write(block));
  if (lastPoint !== undefined) messages.at(-1)?.content.push(lastPoint);
  const system = writeSystem(request);
  return {
    messages: messages.map(({ role, content }) => ({ role, content })),
    system: system.length > 0 ? system : undefined,
    inferenceConfig: filled({
      maxTokens: request.maxTokens ?? maxTokens,
      temperature: sampling.temperature,
      topP: sampling.topP,
      stopSequences: request.stop.length > 0 ? request.stop : undefined,
    }),
    toolConfig: tools.config,
    outputConfig: writeFormat(request),
    additionalModelRequestFields: filled({
      ...fields,
      ...tools.fields,
      anthropic_beta: betasFor(target.model, target.betas ?? []),
      ...added,
    }),
    // The API says that a stop sequence was met, Claude says which.
    additionalModelResponseFieldPaths:
      maker === "claude" && request.stop.length > 0 ? ["/stop_sequence"] : undefined,
    ...own,
    requestMetadata: own["requestMetadata"] ?? writeUser(request.user),
  };
}

function objectIn(extras: Fields, key: string): JsonObject | undefined {
  const value = extras.take(key);
  if (value === undefined || isJsonObject(value)) return value;
  throw invalidField(key, "must be an object");
}

/** Nothing rather than an object in which nothing is said. */
function filled(object: JsonObject): JsonObject | undefined {
  return Object.values(object).some((value) => value !== undefined) ? object : undefined;
}

/** Bedrock writes it to its own log, where accounts keep one; what does not fit there is left out. */
function writeUser(user: string | undefined): JsonObject | undefined {
  return user !== undefined && METADATA.test(user) ? { user_id: user } : undefined;
}

/** Instructions between turns have no place of their own, so they join those before. */
function writeSystem({ system, turns }: NeutralRequest): JsonObject[] {
  const between = turns.filter(({ role }) => role === "system").flatMap(({ blocks }) => blocks);
  return [...system, ...(between as readonly TextBlock[])].flatMap(({ text, cacheControl }) => {
    if (text.trim() === "") return [];
    const point = cachePoint(cacheControl);
    return point === undefined ? [{ text }] : [{ text }, point];
  });
}

interface Tools {
  readonly config: JsonObject | undefined;
  /** What of the choice only the model's own API can say. */
  readonly fields: JsonObject;
}

/** The table of BH-23; a choice that Converse has no word for is said to Claude in its own. */
function writeTools(request: NeutralRequest, maker: Maker): Tools {
  const { tools, toolChoice, parallelTools, turns } = request;
  if (tools.length === 0) return writeCalled(turns, maker);
  const config = { tools: tools.flatMap(writeTool) };
  const mode = toolChoice?.mode;
  if (mode === "none") {
    // Where no calls are talked of, tools that are not offered are as good as tools that must not be called.
    if (!turns.some(hasCalls)) return { config: undefined, fields: {} };
    if (maker !== "claude")
      throw notTranslatable("tool_choice", "tools can't be kept from being called there");
    return { config, fields: { tool_choice: { type: "none" } } };
  }
  if (parallelTools === false) {
    if (maker !== "claude")
      throw notTranslatable(
        "parallel_tool_calls",
        "several calls at once can't be kept from being made there",
      );
    const type = mode === "required" ? "any" : (mode ?? "auto");
    const name = toolChoice?.mode === "tool" ? toolChoice.name : undefined;
    return { config, fields: { tool_choice: { type, name, disable_parallel_tool_use: true } } };
  }
  if (toolChoice === undefined) return { config, fields: {} };
  const chosen =
    toolChoice.mode === "tool"
      ? { tool: { name: toolChoice.name } }
      : { [toolChoice.mode === "required" ? "any" : "auto"]: {} };
  return { config: { ...config, toolChoice: chosen }, fields: {} };
}

/** The API wants the tools that were called declared, also where none is offered any more. */
function writeCalled(turns: readonly Turn[], maker: Maker): Tools {
  const calls = turns.flatMap(({ blocks }) => blocks).filter((block) => block.kind === "tool_call");
  if (calls.length === 0) return { config: undefined, fields: {} };
  const tools = [...new Set(calls.map(({ name }) => name))].map((name) => ({
    toolSpec: { name, inputSchema: { json: { type: "object" } } },
  }));
  return { config: { tools }, fields: maker === "claude" ? { tool_choice: { type: "none" } } : {} };
}

function hasCalls({ blocks }: Turn): boolean {
  return blocks.some(({ kind }) => kind === "tool_call" || kind === "tool_result");
}

function writeTool({ name, description, schema, strict, cacheControl }: Tool): JsonObject[] {
  const json = schema["type"] === undefined ? { type: "object", ...schema } : schema;
  const spec = {
    name,
    description: description === "" ? undefined : description,
    inputSchema: { json },
    strict: strict === true ? true : undefined,
  };
  const point = cachePoint(cacheControl);
  return point === undefined ? [{ toolSpec: spec }] : [{ toolSpec: spec }, point];
}

function writeFormat({ format }: NeutralRequest): JsonObject | undefined {
  if (format?.kind !== "schema") return undefined;
  const { name, description } = format;
  const jsonSchema = { name, description, schema: printJson(format.schema) };
  return { textFormat: { type: "json_schema", structure: { jsonSchema } } };
}

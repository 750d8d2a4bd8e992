import { isJsonList, type Json, type JsonObject } from "../../json/lossless.ts";
import type { NeutralRequest, TextBlock, Tool, Turn } from "../../neutral/request.ts";
import { NO_COUNTERPART, notTranslatable } from "../../translate/fault.ts";
import { describedSchema } from "../../translate/described-schema.ts";
import { Fields } from "../../translate/fields.ts";
import type { Target } from "../format.ts";
import { withTurn } from "../../translate/with-turn.ts";
import { writeContents, writeSystem } from "./request-turns.ts";
import { writeThinking } from "./thinking-wish.ts";
import { writeSchema } from "./tool-schema.ts";

const MODALITIES: ReadonlySet<Json> = new Set<Json>(["text", "image", "audio"]);

/** Writes a body of `generateContent`, which is that of `streamGenerateContent` too: the URL names model and form. */
export function writeGenerateRequest(asked: NeutralRequest, target: Target): Json {
  const request = withTurn(asked);
  const last = request.turns.at(-1);
  if (last?.role === "assistant") throw notTranslatable(last.path, "an answer can't be begun for the model");
  const hasTools = request.tools.length > 0;
  if (hasTools && request.parallelTools === false)
    throw notTranslatable("parallel_tool_calls", "parallel calls can't be turned off there");
  const extras = new Fields(request.extras, "");
  // Google caches by itself.
  extras.take("cache_control");
  const generationConfig = writeConfig(request, target, extras);
  extras.refuseRest(NO_COUNTERPART);
  return {
    systemInstruction: writeSystem([...request.system, ...request.turns.flatMap(systemBlocks)]),
    contents: writeContents(request.turns, target.model),
    tools: hasTools ? [{ functionDeclarations: request.tools.map(writeTool) }] : undefined,
    toolConfig: hasTools ? writeToolChoice(request) : undefined,
    generationConfig: Object.values(generationConfig).some((value) => value !== undefined)
      ? generationConfig
      : undefined,
  };
}

function writeConfig(request: NeutralRequest, target: Target, extras: Fields): JsonObject {
  const { format } = request;
  const wanted = extras.flag("logprobs");
  return {
    maxOutputTokens: request.maxTokens,
    temperature: request.temperature,
    topP: request.topP,
    topK: request.topK,
    stopSequences: request.stop.length > 0 ? request.stop : undefined,
    candidateCount: extras.number("n"),
    seed: extras.number("seed"),
    presencePenalty: extras.number("presence_penalty"),
    frequencyPenalty: extras.number("frequency_penalty"),
    responseLogprobs: wanted,
    logprobs: extras.number("top_logprobs"),
    responseModalities: writeModalities(extras),
    responseMimeType: format === undefined ? undefined : "application/json",
    responseJsonSchema: format?.kind === "schema" ? writeSchema(describedSchema(format)) : undefined,
    thinkingConfig: writeThinking(request.reasoning, target.model),
  };
}

function writeModalities(extras: Fields): Json | undefined {
  const modalities = extras.take("modalities");
  if (modalities === undefined) return undefined;
  if (!isJsonList(modalities) || !modalities.every((one) => MODALITIES.has(one)))
    throw notTranslatable("modalities", NO_COUNTERPART);
  return modalities.map((one) => (one as string).toUpperCase());
}

function systemBlocks(turn: Turn): readonly TextBlock[] {
  return turn.role === "system" ? (turn.blocks as readonly TextBlock[]) : [];
}

/** That arguments follow the schema strictly is how this API calls anyway. */
function writeTool({ name, description, schema }: Tool): Json {
  return { name, description, parametersJsonSchema: writeSchema(schema) };
}

function writeToolChoice({ toolChoice }: NeutralRequest): Json | undefined {
  if (toolChoice === undefined) return undefined;
  switch (toolChoice.mode) {
    case "auto":
      return { functionCallingConfig: { mode: "AUTO" } };
    case "none":
      return { functionCallingConfig: { mode: "NONE" } };
    case "required":
      return { functionCallingConfig: { mode: "ANY" } };
    case "tool":
      return { functionCallingConfig: { mode: "ANY", allowedFunctionNames: [toolChoice.name] } };
  }
}

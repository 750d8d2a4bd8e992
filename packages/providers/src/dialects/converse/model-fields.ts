import { isClaude } from "../../families/capabilities.ts";
import { type JsonObject, numberOf } from "../../json/lossless.ts";
import type { NeutralRequest } from "../../neutral/request.ts";
import { notTranslatable } from "../../translate/fault.ts";
import { defaultMaxTokens } from "../anthropic/request-writer.ts";
import { claudeSampling, type Sampling, writeTemperature } from "../anthropic/sampling.ts";
import { isThinking, writeThinking } from "../anthropic/thinking-wish.ts";

/** Whose model it is, as far as its id or its profile's name tells. */
export type Maker = "claude" | "nova" | "nova-2" | "openai" | "mistral" | "other";

/** Whose model an id names. Regions and ARNs stand before the name, versions behind it. */
export function makerOf(model: string): Maker {
  if (isClaude(model)) return "claude";
  if (/nova-2/iu.test(model)) return "nova-2";
  if (/amazon\.nova/iu.test(model)) return "nova";
  if (/openai\./iu.test(model)) return "openai";
  return /mistral\./iu.test(model) ? "mistral" : "other";
}

/** What the caller wants that Converse leaves to each model, and how it samples with that. */
export interface ModelFields {
  readonly sampling: Sampling;
  /** `additionalModelRequestFields`. */
  readonly fields: JsonObject;
  /** A bound that thinking needs, where the caller gave none. */
  readonly maxTokens: number | undefined;
}

/** Says thinking and sampling in the words of the model's maker; refuses what that maker has no word for. */
export function writeModelFields(request: NeutralRequest, model: string): ModelFields {
  const maker = makerOf(model);
  if (maker === "claude") {
    const maxTokens = request.maxTokens ?? defaultMaxTokens(model);
    const { thinking, effort } = writeThinking(request, model, numberOf(maxTokens));
    const isNeeded = request.maxTokens === undefined && thinking?.["type"] === "enabled";
    const claudes = claudeSampling(request, model, isThinking(thinking));
    return {
      sampling: claudes,
      fields: { top_k: claudes.topK, thinking, output_config: effort === undefined ? undefined : { effort } },
      maxTokens: isNeeded ? numberOf(maxTokens) : undefined,
    };
  }
  const { temperature, topP, topK } = request;
  return {
    sampling: { temperature: writeTemperature(temperature), topP, topK },
    fields: { ...writeTopK(topK, maker), ...writeEffort(request, maker) },
    maxTokens: undefined,
  };
}

function writeTopK(topK: NeutralRequest["topK"], maker: Maker): JsonObject {
  if (topK === undefined) return {};
  switch (maker) {
    case "mistral":
      return { top_k: topK };
    case "nova":
    case "nova-2":
      return { inferenceConfig: { topK } };
    default:
      throw notTranslatable("top_k", "the model's API has no counterpart for it");
  }
}

/** Models that do not think are as told when they are told not to. */
function writeEffort({ reasoning }: NeutralRequest, maker: Maker): JsonObject {
  if (reasoning === undefined) return {};
  const level = reasoning.off ? undefined : levelOf(reasoning.effort, reasoning.budget);
  if (maker === "nova-2") {
    const on = { type: "enabled", maxReasoningEffort: level };
    return { reasoningConfig: level === undefined ? { type: "disabled" } : on };
  }
  if (maker === "openai") return level === undefined ? {} : { reasoning_effort: level };
  if (level === undefined) return {};
  throw notTranslatable(reasoning.path, "the model's API has no counterpart for it");
}

/** The nearest of the three levels that these models know. */
function levelOf(effort: string | undefined, budget: number | undefined): "low" | "medium" | "high" {
  switch (effort) {
    case "minimal":
    case "low":
      return "low";
    case "medium":
      return "medium";
    case undefined:
      return budget === undefined || (budget > 4096 && budget <= 16_384)
        ? "medium"
        : budget <= 4096
          ? "low"
          : "high";
    default:
      return "high";
  }
}

import { numberOf } from "../../json/lossless.ts";
import type { JsonNumber } from "../../json/lossless.ts";
import type { NeutralRequest } from "../../neutral/request.ts";

/** How tokens are picked. */
export type Sampling = Pick<NeutralRequest, "temperature" | "topP" | "topK">;

const NONE: Sampling = { temperature: undefined, topP: undefined, topK: undefined };
/** The least that goes with thinking. */
const LEAST_TOP_P = 0.95;

const CLAUDE = /claude-/u;

/** Models that let the caller say how they sample: up to 4.6. Anchored nowhere: clouds put names around the model's. */
const SAMPLED =
  /claude-(?:2|instant|3|(?:opus|sonnet|haiku)-4(?:[-.][0-6])?(?:[-@:]\d{6,}|[-@:]v\d|[-@:]latest|$))/u;

/**
 * How a model of Anthropic's samples, as near as it knows to the caller's wish. Later models know one way only, and refuse every word about
 * it; so do all while they think, but for a `top_p` near 1. Where both are said, which models from 4.1 on refuse, a 1 says nothing.
 */
export function claudeSampling(
  { temperature, topP, topK }: Sampling,
  model: string,
  thinks: boolean,
): Sampling {
  if (CLAUDE.test(model) && !SAMPLED.test(model)) return NONE;
  if (thinks) return topP !== undefined && numberOf(topP) >= LEAST_TOP_P ? { ...NONE, topP } : NONE;
  const known = writeTemperature(temperature);
  const both = known !== undefined && topP !== undefined;
  if (both && numberOf(topP) === 1) return { temperature: known, topP: undefined, topK };
  if (both && numberOf(known) === 1) return { temperature: undefined, topP, topK };
  return { temperature: known, topP, topK };
}

/** Chat goes to 2, Claude and Bedrock to 1. */
export function writeTemperature(temperature: JsonNumber | undefined): JsonNumber | undefined {
  return temperature !== undefined && numberOf(temperature) > 1 ? 1 : temperature;
}

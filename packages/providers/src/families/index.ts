import { family as anthropic } from "./anthropic/family.ts";
import { family as azureOpenAi } from "./azure-openai/family.ts";
import { family as bedrockMantle } from "./bedrock-mantle/family.ts";
import { family as bedrock } from "./bedrock/family.ts";
import type { FamilyName } from "./capabilities.ts";
import type { Family } from "./family.ts";
import { family as gemini } from "./gemini/family.ts";
import { family as openAiCompatible } from "./openai-compatible/family.ts";
import { family as openAi } from "./openai/family.ts";
import { family as openRouter } from "./openrouter/family.ts";
import { family as vertex } from "./vertex/family.ts";

/** The families that can be called; `CAPABILITIES` lists all that a config may name. */
export const FAMILIES: ReadonlyMap<FamilyName, Family> = new Map(
  [openAi, azureOpenAi, anthropic, bedrock, bedrockMantle, openAiCompatible, openRouter, vertex, gemini].map(
    (family) => [family.name, family],
  ),
);

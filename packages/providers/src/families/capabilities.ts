import type { Endpoint } from "@switchyard/core";

/** Which endpoints there are without and with a translation. */
export interface EndpointReach {
  readonly native: readonly Endpoint[];
  readonly translated: readonly Endpoint[];
}

/** What a family can do (R5, P8). The config's `endpoints` and `stores_responses` override it per account. */
export interface Capabilities extends EndpointReach {
  /** What it does for Claude models, where that differs. */
  readonly claude: EndpointReach | undefined;
  /** Keeps responses, so that a later request may read or continue them (P8). */
  readonly storesResponses: boolean;
  /** Endpoints that can be sent to the family: those of its table, and what an account's `endpoints` may add to it. */
  readonly served: readonly Endpoint[];
}

const OPENAI_SERVED: readonly Endpoint[] = ["chat", "embeddings", "messages", "responses"];

/** The table of providers.md, and responses wherever chat or messages can tell them (BH-32). */
export const CAPABILITIES = {
  openai: {
    native: ["chat", "embeddings", "responses"],
    translated: ["messages"],
    claude: undefined,
    storesResponses: true,
    served: OPENAI_SERVED,
  },
  azure_openai: {
    native: ["chat", "embeddings", "responses"],
    translated: ["messages"],
    claude: undefined,
    storesResponses: true,
    served: OPENAI_SERVED,
  },
  anthropic: {
    native: ["messages", "count_tokens"],
    translated: ["chat", "responses"],
    claude: undefined,
    storesResponses: false,
    served: ["messages", "count_tokens", "chat", "responses"],
  },
  bedrock: {
    native: [],
    translated: ["chat", "messages", "responses"],
    claude: undefined,
    storesResponses: false,
    served: ["chat", "messages", "responses"],
  },
  bedrock_mantle: {
    native: ["chat", "responses"],
    translated: ["messages"],
    claude: { native: ["messages", "count_tokens"], translated: ["chat", "responses"] },
    storesResponses: true,
    served: ["chat", "responses", "messages", "count_tokens"],
  },
  vertex: {
    native: [],
    translated: ["chat", "messages", "responses"],
    claude: { native: ["messages"], translated: ["chat", "responses"] },
    storesResponses: false,
    served: ["chat", "messages", "responses"],
  },
  gemini: {
    native: ["chat", "embeddings"],
    translated: ["messages", "responses"],
    claude: undefined,
    storesResponses: false,
    served: ["chat", "embeddings", "messages", "responses"],
  },
  openrouter: {
    native: ["chat", "responses", "messages"],
    translated: [],
    claude: undefined,
    storesResponses: false,
    served: ["chat", "responses", "messages"],
  },
  openai_compatible: {
    native: ["chat", "embeddings"],
    translated: ["messages", "responses"],
    claude: undefined,
    storesResponses: false,
    served: [...OPENAI_SERVED, "count_tokens"],
  },
} as const satisfies Readonly<Record<string, Capabilities>>;

/** A provider family, as the config spells it. */
export type FamilyName = keyof typeof CAPABILITIES;

/** All families, in the table's order. */
export const FAMILY_NAMES: readonly FamilyName[] = Object.keys(CAPABILITIES) as FamilyName[];

/** What a family can do. */
export function capabilities(family: FamilyName): Capabilities {
  return CAPABILITIES[family];
}

/** Whether a name is a family's. */
export function isFamilyName(name: string): name is FamilyName {
  return Object.hasOwn(CAPABILITIES, name);
}

/** Whether a model is one of Anthropic's, by the name that any vendor gives it. */
export function isClaude(model: string): boolean {
  return /claude/iu.test(model);
}

/** What a family can do for one of its models. */
export function reachOf(family: FamilyName, model: string): EndpointReach {
  const all = capabilities(family);
  return (isClaude(model) ? all.claude : undefined) ?? all;
}

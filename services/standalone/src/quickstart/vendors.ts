import type { FamilyName } from "@switchyard/providers";

/** A real provider that joins the quickstart when its usual environment variable is set. */
export interface Vendor {
  /** Name of the provider in the config. */
  readonly name: string;
  readonly family: FamilyName;
  readonly variable: string;
  /** Left out: the family's own. */
  readonly baseUrl?: string;
  /** Name of another variable that holds the base URL; the vendor joins only when both are set. */
  readonly baseUrlVariable?: string;
  /** Group that its chat model joins, and the vendor's id of the model. */
  readonly chat: { readonly group: string; readonly model: string; readonly modelVariable?: string };
  readonly embeddings?: { readonly group: string; readonly model: string };
}

export const VENDORS: readonly Vendor[] = [
  {
    name: "openai",
    family: "openai",
    variable: "OPENAI_API_KEY",
    chat: { group: "gpt-5", model: "gpt-5" },
    embeddings: { group: "text-embedding-3-small", model: "text-embedding-3-small" },
  },
  {
    name: "azure",
    family: "azure_openai",
    variable: "AZURE_OPENAI_API_KEY",
    baseUrlVariable: "AZURE_OPENAI_ENDPOINT",
    chat: { group: "gpt-5", model: "gpt-5", modelVariable: "AZURE_OPENAI_DEPLOYMENT" },
  },
  {
    name: "anthropic",
    family: "anthropic",
    variable: "ANTHROPIC_API_KEY",
    chat: { group: "claude-sonnet-4-6", model: "claude-sonnet-4-6" },
  },
  {
    name: "gemini",
    family: "gemini",
    variable: "GEMINI_API_KEY",
    chat: { group: "gemini-2.5-flash", model: "gemini-2.5-flash" },
  },
  {
    name: "openrouter",
    family: "openrouter",
    variable: "OPENROUTER_API_KEY",
    chat: { group: "gpt-5", model: "openai/gpt-5" },
  },
  {
    name: "groq",
    family: "openai_compatible",
    variable: "GROQ_API_KEY",
    baseUrl: "https://api.groq.com/openai/v1",
    chat: { group: "gpt-oss-120b", model: "openai/gpt-oss-120b" },
  },
  {
    name: "together",
    family: "openai_compatible",
    variable: "TOGETHER_API_KEY",
    baseUrl: "https://api.together.xyz/v1",
    chat: { group: "gpt-oss-120b", model: "openai/gpt-oss-120b" },
  },
  {
    name: "mistral",
    family: "openai_compatible",
    variable: "MISTRAL_API_KEY",
    baseUrl: "https://api.mistral.ai/v1",
    chat: { group: "mistral-large", model: "mistral-large-latest" },
    embeddings: { group: "mistral-embed", model: "mistral-embed" },
  },
  {
    name: "deepseek",
    family: "openai_compatible",
    variable: "DEEPSEEK_API_KEY",
    baseUrl: "https://api.deepseek.com/v1",
    chat: { group: "deepseek-chat", model: "deepseek-chat" },
  },
  {
    name: "xai",
    family: "openai_compatible",
    variable: "XAI_API_KEY",
    baseUrl: "https://api.x.ai/v1",
    chat: { group: "grok-4", model: "grok-4" },
  },
];

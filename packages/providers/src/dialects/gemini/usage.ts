import type { TokenUsage } from "../usage.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads `usageMetadata`. Google counts thoughts beside the candidates and what its own tools read beside the prompt. Absent when it
 * counts nothing.
 */
export function geminiUsage(value: unknown): TokenUsage | undefined {
  const fields: Fields = typeof value === "object" && value !== null ? (value as Fields) : {};
  const prompt = count(fields["promptTokenCount"]);
  const written = count(fields["candidatesTokenCount"]);
  const stated = count(fields["totalTokenCount"]);
  if (prompt === undefined && written === undefined && stated === undefined) return undefined;
  const reasoning = count(fields["thoughtsTokenCount"]) ?? 0;
  const input = (prompt ?? 0) + (count(fields["toolUsePromptTokenCount"]) ?? 0);
  const output = (written ?? 0) + reasoning;
  const cached = count(fields["cachedContentTokenCount"]) ?? 0;
  return { input, output, total: stated ?? input + output, cached, reasoning };
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

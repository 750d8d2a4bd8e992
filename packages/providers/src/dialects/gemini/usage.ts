import { countIn, fieldsOf, uncached, usageOf } from "../usage.ts";
import type { TokenUsage } from "../../neutral/usage.ts";

/**
 * Reads `usageMetadata`. Google counts thoughts beside the candidates and what its own tools read beside the prompt. Absent when it
 * counts nothing.
 */
export function geminiUsage(value: unknown): TokenUsage | undefined {
  const fields = fieldsOf(value);
  const prompt = countIn(fields, "promptTokenCount");
  const written = countIn(fields, "candidatesTokenCount");
  const stated = countIn(fields, "totalTokenCount");
  if (prompt === undefined && written === undefined && stated === undefined) return undefined;
  const reasoning = countIn(fields, "thoughtsTokenCount") ?? 0;
  const heard = audioIn(fields["promptTokensDetails"]) + audioIn(fields["toolUsePromptTokensDetails"]);
  return usageOf({
    input: (prompt ?? 0) + (countIn(fields, "toolUsePromptTokenCount") ?? 0),
    output: (written ?? 0) + reasoning,
    total: stated,
    cached: countIn(fields, "cachedContentTokenCount"),
    audioInput: uncached(heard, audioIn(fields["cacheTokensDetails"])),
    reasoning,
    audioOutput: audioIn(fields["candidatesTokensDetails"]),
  });
}

/** Tokens of audio among those that are told by modality. */
function audioIn(details: unknown): number {
  if (!Array.isArray(details)) return 0;
  const audio = details.map(fieldsOf).filter(({ modality }) => modality === "AUDIO");
  return audio.reduce((tokens: number, detail) => tokens + (countIn(detail, "tokenCount") ?? 0), 0);
}

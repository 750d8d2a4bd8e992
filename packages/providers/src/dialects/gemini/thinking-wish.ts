import type { JsonObject } from "../../json/lossless.ts";
import type { Effort, Reasoning } from "../../neutral/request.ts";

/** As Google's own compatible API reads efforts for models that take budgets. */
const BUDGETS: Readonly<Record<Exclude<Effort, "none">, number>> = {
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
};

const TAKES_BUDGET = /gemini-2(?:\D|$)/u;
const IS_PRO = /gemini-[\d.]+-pro/u;
/** Knows only two levels. */
const IS_FIRST_PRO = /gemini-3-pro/u;
const LARGEST = { pro: 32_768, other: 24_576 };
const LEAST_OF_PRO = 128;

/** The nearest that the model knows to the caller's wish; nothing where there is none. */
export function writeThinking(reasoning: Reasoning | undefined, model: string): JsonObject | undefined {
  if (reasoning === undefined) return undefined;
  const { effort, budget, anthropic } = reasoning;
  if (reasoning.off || effort === "none") return writeOff(model);
  const wanted = budget ?? (effort !== undefined && TAKES_BUDGET.test(model) ? BUDGETS[effort] : undefined);
  // A caller of messages may ask for effort alone, or for thinking that is not shown.
  const includeThoughts = anthropic === undefined || (anthropic.thinks && anthropic.display !== "omitted");
  if (wanted !== undefined) return { includeThoughts, thinkingBudget: fit(wanted, model) };
  return { includeThoughts, thinkingLevel: effort === undefined ? undefined : levelOf(effort, model) };
}

/** Not every model can leave off thinking; the least is nearest. */
function writeOff(model: string): JsonObject {
  if (TAKES_BUDGET.test(model)) return { thinkingBudget: IS_PRO.test(model) ? LEAST_OF_PRO : 0 };
  return { thinkingLevel: IS_PRO.test(model) ? "low" : "minimal" };
}

function fit(budget: number, model: string): number {
  if (!TAKES_BUDGET.test(model)) return budget;
  return IS_PRO.test(model)
    ? Math.max(LEAST_OF_PRO, Math.min(budget, LARGEST.pro))
    : Math.min(budget, LARGEST.other);
}

function levelOf(effort: Exclude<Effort, "none">, model: string): string {
  if (effort === "xhigh" || effort === "max") return "high";
  if (IS_FIRST_PRO.test(model)) return effort === "medium" ? "high" : effort === "minimal" ? "low" : effort;
  return effort === "minimal" && IS_PRO.test(model) ? "low" : effort;
}

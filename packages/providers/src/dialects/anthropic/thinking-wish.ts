import type { Json, JsonObject } from "../../json/lossless.ts";
import type { Effort, NeutralRequest } from "../../neutral/request.ts";

/** Smallest budget that the API takes, tokens. */
const LEAST_BUDGET = 1024;
const BUDGETS: Readonly<Record<Exclude<Effort, "none">, number>> = {
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 30_000,
  max: 30_000,
};

/** Models that take a budget; later ones think adaptively and take an effort. Anchored nowhere: clouds put names around the model's. */
const TAKES_BUDGET =
  /claude-(?:3-7|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:[-@:]\d{6,}|[-@:]v\d|[-@:]latest|$))/u;

/** Choices by which the model must call a tool. */
const FORCED: ReadonlySet<string | undefined> = new Set(["required", "tool"]);

/** Fields that say how much the model is to think. */
export interface ThinkingFields {
  readonly thinking: JsonObject | undefined;
  readonly effort: Json | undefined;
}

const NONE: ThinkingFields = { thinking: undefined, effort: undefined };

/**
 * The nearest that the model knows to the caller's wish. A budget leaves at least one token for the answer; where even the least does not
 * fit, where a call of a tool that thinking led to comes back without it, and where a call is to be made (the API refuses both), the
 * model answers unthinking.
 */
export function writeThinking(request: NeutralRequest, model: string, maxTokens: number): ThinkingFields {
  const { reasoning } = request;
  if (reasoning === undefined) return NONE;
  const { effort, budget, anthropic } = reasoning;
  // Only Anthropic's own callers speak of effort beside thinking.
  const ownEffort = anthropic === undefined ? undefined : effort;
  if (reasoning.off) return { thinking: { type: "disabled" }, effort: ownEffort };
  if (anthropic?.thinks === false) return { thinking: undefined, effort: ownEffort };
  const isForced = request.tools.length > 0 && FORCED.has(request.toolChoice?.mode);
  if (!TAKES_BUDGET.test(model)) {
    const known = effort === "minimal" ? "low" : effort;
    if (isForced) return { thinking: undefined, effort: known ?? effortOf(budget) };
    const display = anthropic === undefined ? "summarized" : anthropic.display;
    return { thinking: { type: "adaptive", display }, effort: known ?? effortOf(budget) };
  }
  const wanted = budget ?? (effort === undefined || effort === "none" ? BUDGETS.medium : BUDGETS[effort]);
  const fitting = Math.min(wanted, maxTokens - 1);
  if (fitting < LEAST_BUDGET || isForced || lacksThinking(request)) return NONE;
  return {
    thinking: { type: "enabled", budget_tokens: fitting, display: anthropic?.display },
    effort: budget === undefined ? undefined : ownEffort,
  };
}

/** Whether a `thinking` field says that the model is to think. */
export function isThinking(thinking: JsonObject | undefined): boolean {
  return thinking !== undefined && thinking["type"] !== "disabled";
}

function effortOf(budget: number | undefined): Json | undefined {
  if (budget === undefined) return undefined;
  return budget <= 4096 ? "low" : budget <= 16_384 ? "medium" : "high";
}

/** Whether the answer whose calls are being worked on came back without the thinking that led to them. */
function lacksThinking({ turns }: NeutralRequest): boolean {
  const last = turns.findLastIndex(({ role }) => role === "assistant");
  const after = turns.slice(last + 1).flatMap(({ blocks }) => blocks);
  if (!after.some(({ kind }) => kind === "tool_result")) return false;
  const thought = turns[last]?.blocks.some(
    (block) =>
      (block.kind === "redacted" || (block.kind === "thinking" && block.signature !== undefined)) &&
      block.format !== "google-gemini-v1",
  );
  return thought !== true;
}

/**
 * Anthropic's betas that Bedrock takes in `anthropic_beta`, and of which models. It refuses a request for any other, so the others are
 * left out: what they allow in a body is refused by name where it stands, or changes no answer.
 */
const BETAS: ReadonlyMap<string, RegExp> = new Map([
  ["computer-use-2025-01-24", /claude/iu],
  ["computer-use-2025-11-24", /claude/iu],
  ["context-1m-2025-08-07", /claude/iu],
  // Later models need no beta for it.
  ["effort-2025-11-24", /claude-opus-4-5/iu],
  ["fine-grained-tool-streaming-2025-05-14", /claude/iu],
  ["token-efficient-tools-2025-02-19", /claude-3-7/iu],
  ["output-128k-2025-02-19", /claude-3-7/iu],
  ["interleaved-thinking-2025-05-14", /claude-(?:opus|sonnet)-4/iu],
  ["dev-full-thinking-2025-05-14", /claude-(?:opus|sonnet)-4/iu],
  ["thinking-binding-controls-2026-08-01", /claude/iu],
  ["thinking-display-updates-2026-08-18", /claude/iu],
]);

/** Those of the caller's betas that this model on Bedrock knows; undefined where there are none. */
export function betasFor(model: string, asked: readonly string[]): readonly string[] | undefined {
  const known = asked.filter((beta) => BETAS.get(beta)?.test(model) === true);
  return known.length > 0 ? known : undefined;
}

/** A small config without faults or warnings. */
export const BASE = {
  providers: [{ name: "openai", family: "openai", credential: { env: "OPENAI_KEY" } }],
  groups: [{ name: "chat", deployments: [{ provider: "openai", model: "gpt-5" }] }],
};

/** The text of a config: the base, with these parts in place of its own. */
export function withText(parts: Record<string, unknown>): string {
  return JSON.stringify({ ...BASE, ...parts });
}

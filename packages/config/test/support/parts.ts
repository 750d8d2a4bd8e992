/** What is wrong, the config as JSON-like parts over the base, the path, and words of the message. */
export type Row = readonly [what: string, parts: Record<string, unknown>, path: string, words: string];

export const openai = { name: "openai", family: "openai", credential: { env: "OPENAI_KEY" } };
export const chat = { name: "chat", deployments: [{ provider: "openai", model: "gpt-5" }] };
export const group = (more: object) => ({ groups: [{ ...chat, ...more }] });
export const policy = (more: object) => group({ policy: more });
export const provider = (more: object) => ({ providers: [{ ...openai, ...more }] });
export const key = (more: object) => ({
  keys: [{ name: "k", secret: { env: "K" }, groups: ["chat"], ...more }],
});
export const listen = (more: object) => ({ runtime: { listen: more } });
export const deployments = (...list: object[]) => group({ deployments: list });
export const many = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ provider: "openai", model: `m${index}` }));
export const named = (name: string, fallback: object = {}) => ({ ...chat, name, policy: { fallback } });
export const native = (path: string, families: readonly string[] = ["openai"]) => ({
  native_endpoints: [{ path, provider_families: families }],
});

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { json } from "@switchyard/testkit";
import { forEachForm } from "../support/gateway-stage.ts";
import type { SceneSpec } from "../support/gateway-scene.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures/providers");

function recorded(name: string): object {
  return JSON.parse(readFileSync(join(FIXTURES, name, "response.body"), "utf8")) as object;
}

const one = (family: string, price?: object): SceneSpec => ({
  order: ["A"],
  providers: { A: { family } },
  ...(price === undefined ? {} : { deployments: { A: { price } } }),
});
const CHAT = "/v1/chat/completions";
const MESSAGES = { path: "/v1/messages" };

interface Row {
  readonly what: string;
  readonly spec: SceneSpec;
  readonly answer: object;
  readonly path?: string;
  readonly body?: object;
  readonly cost: string | null;
}

const CLAUDE = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude",
  content: [{ type: "text", text: "hi" }],
  stop_reason: "end_turn",
  usage: {
    input_tokens: 10,
    cache_read_input_tokens: 1000,
    cache_creation_input_tokens: 100,
    output_tokens: 20,
  },
};
const KINDS = { input: 3, output: 15, cached_input: 0.3, cache_write: 3.75 };

const ROWS: readonly Row[] = [
  {
    what: "input from a cache at its own price",
    spec: one("openai", { input: 2.5, output: 10, cached_input: 1.25 }),
    answer: recorded("openai/chat-cached-tokens"),
    // 125 at 2.5, 1,024 at 1.25, 261 at 10.
    cost: "0.0042025",
  },
  {
    what: "the same without a price of its own",
    spec: one("openai", { input: 2.5, output: 10 }),
    answer: recorded("openai/chat-cached-tokens"),
    cost: "0.0054825",
  },
  {
    what: "Claude's cache, read and written, for its own callers",
    spec: one("anthropic", KINDS),
    answer: CLAUDE,
    ...MESSAGES,
    body: { max_tokens: 9 },
    // 10 at 3, 1,000 at 0.3, 100 at 3.75, 20 at 15.
    cost: "0.001005",
  },
  {
    what: "and for those of chat",
    spec: one("anthropic", KINDS),
    answer: CLAUDE,
    cost: "0.001005",
  },
  {
    what: "the provider's own charge where the config has no price",
    spec: one("openrouter"),
    answer: recorded("openrouter/chat-reasoning"),
    cost: "0.00000537",
  },
  {
    what: "the config's price before the provider's charge",
    spec: one("openrouter", { input: 1, output: 1 }),
    answer: recorded("openrouter/chat-reasoning"),
    cost: "0.000095",
  },
  {
    what: "embeddings as input",
    spec: one("openai", { input: 0.5, output: 99 }),
    answer: recorded("openai/embeddings-float"),
    path: "/v1/embeddings",
    body: { messages: undefined, input: "hi" },
    cost: "0.0000035",
  },
  {
    what: "nothing of counted tokens, which are free",
    spec: one("anthropic", KINDS),
    answer: recorded("anthropic/count-tokens-2"),
    path: "/v1/messages/count_tokens",
    cost: null,
  },
];

forEachForm("x-ants-cost", {}, (stage) => {
  it.concurrent.for(ROWS)("H2: tells $what", async ({ spec, answer, path = CHAT, body = {}, cost }) => {
    await using scene = await stage.scene(spec);
    scene.A.answer(json(200, answer));
    const reply = await scene.ask(body, { path });
    expect(reply.status).toBe(200);
    expect(reply.headers.get("x-ants-cost")).toBe(cost);
  });
});

import { embeddings, json, OK } from "@switchyard/testkit";
import type { Answer, RecordedCall } from "@switchyard/testkit";
import type { AskOptions, GatewayClient, Reply } from "../../support/gateway-client.ts";
import type { Scene, UpstreamName } from "../../support/gateway-scene.ts";
import { response } from "../../support/responses.ts";

export const ALL: readonly UpstreamName[] = ["A", "B", "C"];
export const PAIR: readonly UpstreamName[] = ["A", "B"];

/** Where an endpoint is, with what its requests need beside the model. */
export const ENDPOINTS = {
  chat: { path: "/v1/chat/completions", fields: {} },
  embeddings: { path: "/v1/embeddings", fields: { input: "hi", messages: undefined } },
  responses: { path: "/v1/responses", fields: { input: "hi", messages: undefined, store: false } },
  messages: { path: "/v1/messages", fields: { max_tokens: 9 } },
  count_tokens: { path: "/v1/messages/count_tokens", fields: {} },
} as const;

export type EndpointName = keyof typeof ENDPOINTS;

/** Asks an endpoint, with these fields over the least that it needs. */
export function askAt(
  caller: GatewayClient,
  endpoint: EndpointName,
  fields: object = {},
  options: AskOptions = {},
): Promise<Reply> {
  const { path, fields: needed } = ENDPOINTS[endpoint];
  return caller.ask({ ...needed, ...fields }, { path, ...options });
}

/** Chat requests one after another, all of them served. */
export async function serve(
  caller: GatewayClient,
  count: number,
  body: object = {},
  options: AskOptions = {},
): Promise<readonly Reply[]> {
  const replies: Reply[] = [];
  for (let done = 0; done < count; done += 1) {
    const reply = await caller.ask(body, options);
    if (reply.status !== 200) throw new Error(`${reply.status}: ${reply.text}`);
    replies.push(reply);
  }
  return replies;
}

/** Each upstream answers every endpoint with its own name. */
export function named(scene: Scene, names: readonly UpstreamName[] = ALL): void {
  for (const name of names) scene[name].answer(answersAs(name));
}

/** A good answer to any endpoint that says `name`. */
export function answersAs(name: string): (call: RecordedCall) => Answer {
  return ({ path }) => {
    if (path.includes("count_tokens")) return json(200, { input_tokens: 3 });
    if (path.includes("/embeddings")) return embeddings([[1]]);
    if (path.includes("/messages")) return message(name);
    if (path.includes("/responses")) return json(200, response(`resp_${name}`, name));
    return OK(name);
  };
}

/** A whole answer of Anthropic's. */
export function message(text: string): Answer {
  return json(200, {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude",
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    usage: { input_tokens: 5, output_tokens: 2 },
  });
}

/** Calls that each upstream received after `before` was taken of `scene.counts`. */
export function callsSince(scene: Scene, before: Readonly<Record<string, number>>): Record<string, number> {
  const since = Object.entries(scene.counts).map(([name, calls]) => [name, calls - (before[name] ?? 0)]);
  return Object.fromEntries(since) as Record<string, number>;
}

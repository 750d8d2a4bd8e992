import OpenAI from "openai";
import type { Scene, SceneSpec } from "./gateway-scene.ts";

/** Where responses are made. */
export const PATH = "/v1/responses";
/** Families that keep responses. */
export const OPENAI = { family: "openai" };
export const AZURE = { family: "azure_openai" };
/** Both keep responses. */
export const KEEPERS: SceneSpec = { pool: ["A", "B"], providers: { A: OPENAI, B: AZURE } };
export const ONE: SceneSpec = { order: ["A"], providers: { A: OPENAI } };
/** A and B have chat alone. */
export const CHAT_ONLY: SceneSpec = {};

/** One event of a stream. */
export const event = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

/** A response with one message. */
export function response(id: string, text: string, more: object = {}): Record<string, unknown> {
  return {
    id,
    object: "response",
    created_at: 1_700_000_000,
    status: "completed",
    error: null,
    incomplete_details: null,
    model: "gpt-up",
    output: [
      {
        id: "msg_1",
        type: "message",
        status: "completed",
        role: "assistant",
        content: [{ type: "output_text", text, annotations: [] }],
      },
    ],
    usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
    ...more,
  };
}

/** The same before anything was said. */
export const pending = (id: string): object => ({
  ...response(id, ""),
  status: "in_progress",
  output: [],
  usage: null,
});

/** A whole stream with one message. */
export function streamed(id: string, text: string): string {
  return [
    event("response.created", { sequence_number: 0, response: pending(id) }),
    event("response.output_item.added", {
      sequence_number: 1,
      output_index: 0,
      item: { id: "msg_1", type: "message", status: "in_progress", role: "assistant", content: [] },
    }),
    event("response.content_part.added", {
      sequence_number: 2,
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      part: { type: "output_text", text: "", annotations: [] },
    }),
    event("response.output_text.delta", {
      sequence_number: 3,
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      delta: text,
    }),
    event("response.completed", { sequence_number: 4, response: response(id, text) }),
  ].join("");
}

/** Makes a response of `hi`, with these fields over it. */
export function ask(scene: Scene, fields: object, via: { readonly http: string } = scene): Promise<Response> {
  return fetch(via.http + PATH, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${scene.key}` },
    body: JSON.stringify({ model: scene.model, input: "hi", ...fields }),
  });
}

/** The official client, as a caller of the scene. */
export function clientOf(scene: Scene, http: string = scene.http): OpenAI {
  return new OpenAI({ baseURL: `${http}/v1`, apiKey: scene.key, maxRetries: 0 });
}

/** The data of a stream's events. */
export const dataOf = (text: string): Record<string, unknown>[] =>
  text
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => JSON.parse(line.slice(5)) as Record<string, unknown>);

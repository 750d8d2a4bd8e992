import { expect } from "vitest";
import type { GatewayClient } from "../../support/gateway-client.ts";
import type { Scene, SceneSpec } from "../../support/gateway-scene.ts";
import { ALL, ENDPOINTS } from "../support/calls.ts";
import type { EndpointName } from "../support/calls.ts";

export const BY_QUERY = 'request.query.get("who")';
export const KEYS = Array.from({ length: 16 }, (_, index) => `customer-${index}`);

export function list(by: string, expression?: string): SceneSpec {
  return {
    preset: "sticky_list",
    pool: ALL,
    policy: { affinity: { by, ...(expression && { expression }) } },
  };
}

/** What served a request, whatever the endpoint. */
export async function placeOf(
  caller: GatewayClient,
  fields: object = {},
  options: { query?: string; endpoint?: EndpointName; headers?: Record<string, string> } = {},
): Promise<string> {
  const { path, fields: needed } = ENDPOINTS[options.endpoint ?? "chat"];
  const reply = await caller.ask(
    { ...needed, ...fields },
    {
      path: path + (options.query === undefined ? "" : `?who=${options.query}`),
      headers: options.headers ?? {},
    },
  );
  if (reply.status !== 200) throw new Error(`${reply.status}: ${reply.text}`);
  return reply.attempts.at(-1)?.deployment.at(-1) ?? "";
}

/** Whether requests like this one take turns: round robin goes to each of three in a row. */
export async function takesTurns(ask: () => Promise<string>): Promise<boolean> {
  const places = [await ask(), await ask(), await ask()];
  return new Set(places).size === 3;
}

/** Whether two ways to ask are one key: then all of sixteen pairs go to the same place. */
export async function samePlaces(
  scene: Scene,
  one: (chat: string) => Promise<string>,
  other: (chat: string) => Promise<string>,
): Promise<boolean> {
  for (const key of KEYS) if ((await one(key)) !== (await other(key))) return false;
  expect(scene.counts).not.toEqual({ A: 0, B: 0, C: 0 });
  return true;
}

/** The log lines of the scene's own requests. */
export function logOf(scene: Scene): string {
  return scene.gateway
    .logs()
    .split("\n")
    .filter((line) => line.includes(`"group":"${scene.group}"`))
    .join("\n");
}

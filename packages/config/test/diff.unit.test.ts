import { expect, test } from "vitest";
import { decodeConfig, diffConfigs } from "../src/index.ts";

function diff(before: object, after: object): string[] {
  const [old, now] = [before, after].map((each) => decodeConfig(JSON.stringify(each)).config);
  if (old === undefined || now === undefined) throw new Error("no config");
  return diffConfigs(old, now);
}

const group = (more: object) => ({ groups: [{ name: "chat", ...more }] });

test.each<[what: string, before: object, after: object, lines: string[]]>([
  ["nothing", group({}), group({}), []],
  [
    "another spelling",
    group({ policy: { strategy: "STRATEGY_WEIGHTED", request_timeout: "1m" } }),
    group({ policy: { request_timeout: "60s", strategy: "weighted" } }),
    [],
  ],
  [
    "a field",
    group({ policy: { strategy: "weighted" } }),
    group({ policy: { strategy: "shuffle" } }),
    ["groups[chat].policy.strategy: weighted -> shuffle"],
  ],
  [
    "a field that comes",
    group({ policy: { max_attempts: 2 } }),
    group({ policy: { max_attempts: 2, request_timeout: "5s" } }),
    ["groups[chat].policy.request_timeout: (not set) -> 5s"],
  ],
  ["a field that goes", group({ type: "chat" }), group({}), ["groups[chat].type: chat -> (not set)"]],
  [
    "a plain list",
    group({ policy: { retry: { on: ["timeout"] } } }),
    group({ policy: { retry: { on: [] } } }),
    ['groups[chat].policy.retry.on: ["timeout"] -> []'],
  ],
  [
    "elements by name, not place",
    { teams: [{ name: "a" }, { name: "b" }] },
    { teams: [{ name: "b", limits: { rpm: 5 } }, { name: "c" }] },
    ["teams[a]: removed", 'teams[b].limits: (not set) -> {"rpm":5}', "teams[c]: added"],
  ],
  ["the first of a list", {}, { teams: [{ name: "a" }] }, ["teams[a]: added"]],
  ["the last of a list", { teams: [{ name: "a" }] }, {}, ["teams[a]: removed"]],
  [
    "deployments by id",
    group({ deployments: [{ provider: "OpenAI", model: "m", weight: 1 }] }),
    group({
      deployments: [
        { provider: "openai", model: "n", id: "x" },
        { provider: "OpenAI", model: "m", weight: 2 },
      ],
    }),
    ["groups[chat].deployments[openai/m].weight: 1 -> 2", "groups[chat].deployments[x]: added"],
  ],
  [
    "order, which matters",
    group({
      deployments: [
        { provider: "p", model: "a" },
        { provider: "p", model: "b" },
      ],
    }),
    group({
      deployments: [
        { provider: "p", model: "b" },
        { provider: "p", model: "a" },
      ],
    }),
    ["groups[chat].deployments: order p/a, p/b -> p/b, p/a"],
  ],
  [
    "groups of two projects",
    {
      groups: [
        { name: "g", deployments: [], project: "p", policy: {} },
        { name: "g", policy: {} },
      ],
    },
    { groups: [{ name: "g", policy: {} }] },
    ["groups[p/g]: removed"],
  ],
  [
    "a hash is cut short",
    { keys: [{ name: "k", secret: { sha256: "a".repeat(64) } }] },
    { keys: [{ name: "k", secret: { sha256: "b".repeat(64) } }] },
    ["keys[k].secret.sha256: aaaaaaaa… -> bbbbbbbb…"],
  ],
  [
    "native endpoints by path",
    { native_endpoints: [{ path: "/v1/x", provider_families: ["openai"] }] },
    { native_endpoints: [{ path: "/v1/x", provider_families: ["gemini"] }] },
    ['native_endpoints[/v1/x].provider_families: ["openai"] -> ["gemini"]'],
  ],
])("%s", (_, before, after, lines) => {
  expect(diff(before, after)).toEqual(lines);
});

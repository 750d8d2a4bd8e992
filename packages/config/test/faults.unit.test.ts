import { describe, expect, test } from "vitest";
import { validateConfig } from "../src/index.ts";
import { BASE, withText } from "./support/base.ts";

import { REFERENCES } from "./support/rows-references.ts";
import { READING } from "./support/rows-reading.ts";
import { STRUCTURE } from "./support/rows-structure.ts";
import { chat, named } from "./support/parts.ts";

describe.each([
  ["reading", READING],
  ["structure", STRUCTURE],
  ["references", REFERENCES],
])("faults of %s", (_, rows) => {
  test.each(rows)("%s", (__, parts, path, words) => {
    const { config, faults } = validateConfig(withText(parts));
    expect(faults.map((fault) => fault.path)).toEqual([path]);
    expect(faults[0]?.message).toContain(words);
    expect(config).toBeUndefined();
    expect(JSON.stringify(faults)).not.toMatch(/sk-live|pw-secret/);
  });
});

test("the base of these rows has no fault", () => {
  expect(validateConfig(withText({}))).toMatchObject({ faults: [], warnings: [] });
  expect(validateConfig(withText({})).config).toBeDefined();
  expect(Object.keys(BASE)).toEqual(["providers", "groups"]);
});

test("duplicate keys of a mapping are told with their path", () => {
  const { faults } = validateConfig("teams:\n- name: a\n  name: b\n");
  expect(faults).toEqual([{ path: "teams[0].name", message: "is given twice in the same mapping" }]);
});

test("a field in both spellings is given twice", () => {
  const { faults } = validateConfig("runtime: {max_body_bytes: 1, maxBodyBytes: 2}");
  expect(faults).toEqual([{ path: "runtime.max_body_bytes", message: "is given twice" }]);
});

test("every fault is reported, not just the first, and places keep their numbers", () => {
  const text = `
runtime: { auth: opne, listen: { http: nowhere } }
providers:
  - 5
  - { name: openai, family: opnai, credential: sk-live-123 }
groups:
  - { name: a, deployments: [{ provider: openai, model: m, weight: -1 }], policy: { retry: { max_retries: 99, on: [nothing] }, fallback: { general: a } } }
  - { name: b, deployments: [], polici: {} }
keys:
  - { name: k, secret: { env: K }, groups: [zzz], ignore_model: 1 }
`;
  expect(validateConfig(text).faults.map(({ path }) => path)).toEqual([
    "runtime.auth",
    "providers[0]",
    "providers[1].family",
    "providers[1].credential",
    "groups[0].deployments[0].weight",
    "groups[0].policy.retry.on[0]",
    "groups[1].polici",
    "keys[0].ignore_model",
    "groups[0].policy.retry.max_retries",
    "runtime.listen.http",
    "groups[1].deployments",
    "groups[0].policy.fallback.general",
    "keys[0].groups[0]",
  ]);
});

test("every loop is named, the shortest through a group first", () => {
  const groups = [
    named("a", { general: "b" }),
    named("b", { general: "c", context: "b" }),
    named("c", { general: "b" }),
  ];
  const { faults } = validateConfig(withText({ groups }));
  expect(faults).toEqual([
    { path: "groups[1].policy.fallback.context", message: "falls back to itself: b -> b" },
    { path: "groups[2].policy.fallback.general", message: "fallbacks loop: c -> b -> c" },
  ]);
});

test("G3 default fallbacks pass over each other, which is no loop", () => {
  const projects = [{ name: "default", default_fallbacks: ["b", "c"] }];
  expect(validateConfig(withText({ projects, groups: [named("a"), named("b"), named("c")] })).faults).toEqual(
    [],
  );
});

test("the same group name may stand in two projects, and the same port on two hosts or as any free one", () => {
  const groups = [chat, { ...chat, project: "other" }];
  const runtime = { listen: { http: "10.0.0.1:80", rpc: "10.0.0.2:80", ops: "127.0.0.1:0" } };
  expect(validateConfig(withText({ groups, runtime })).faults).toEqual([]);
  expect(validateConfig(withText({ runtime: { listen: { http: "a:0", rpc: "a:0" } } })).faults).toEqual([]);
});

test.each(["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "127.9.9.9:0"])("open access on %s", (http) => {
  expect(validateConfig(withText({ runtime: { auth: "open", listen: { http } } })).faults).toEqual([]);
});

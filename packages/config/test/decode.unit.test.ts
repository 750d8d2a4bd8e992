import { describe, expect, test } from "vitest";
import * as fc from "fast-check";
import { decodeConfig, encodeConfig, formatDuration, parseDuration, validateConfig } from "../src/index.ts";
import { nearest } from "../src/decode/nearest.ts";
import { encodable } from "./support/encodable.ts";

const read = (text: string) => {
  const { config, faults } = decodeConfig(text);
  return { data: config && encodeConfig(config), faults };
};

describe("the documented form", () => {
  test("a JSON file may name its schema to editors, at its top alone", () => {
    expect(read('{"$schema":"config.schema.json","teams":[{"name":"t"}]}')).toEqual({
      faults: [],
      data: { teams: [{ name: "t" }] },
    });
    expect(read('{"teams":[{"$schema":"x"}]}').faults).toMatchObject([{ path: "teams[0].$schema" }]);
  });

  test("enum values are short or full, names snake or camel case, and the output is the short form", () => {
    const short =
      "providers: [{name: a, family: azure_openai, base_url: u}]\ngroups: [{name: g, policy: {preset: group_failover, max_attempts: 3}}]";
    const full =
      "providers: [{name: a, family: FAMILY_AZURE_OPENAI, baseUrl: u}]\ngroups: [{name: g, policy: {preset: PRESET_GROUP_FAILOVER, maxAttempts: 3}}]";
    expect(read(full)).toEqual(read(short));
    expect(read(short)).toEqual({
      faults: [],
      data: {
        providers: [{ name: "a", family: "azure_openai", base_url: "u" }],
        groups: [{ name: "g", policy: { preset: "group_failover", max_attempts: 3 } }],
      },
    });
  });

  test("JSON is read as YAML is", () => {
    const json = '{"groups":[{"name":"g","deployments":[{"provider":"p","model":"m","weight":3}]}]}';
    expect(read(json)).toEqual({ faults: [], data: JSON.parse(json) as unknown });
  });

  test("YAML 1.2 core schema: on, off, yes and dates are text", () => {
    const text =
      "providers: [{name: on, api_version: 2024-10-21, region: yes}]\ngroups: [{name: off, policy: {zero_weight: off, retry: {on: []}}}]";
    expect(read(text)).toEqual({
      faults: [],
      data: {
        providers: [{ name: "on", api_version: "2024-10-21", region: "yes" }],
        groups: [{ name: "off", policy: { zero_weight: "off", retry: { on: [] } } }],
      },
    });
  });

  test("an empty list overrides, an absent or null one does not", () => {
    const on = (text: string) =>
      decodeConfig(`groups: [{policy: {retry: {${text}}}}]`).config?.groups[0]?.policy?.retry?.on;
    expect(on("on: []")?.values).toEqual([]);
    expect(on("on: null")).toBeUndefined();
    expect(on("max_retries: 1")).toBeUndefined();
  });

  test("fields keep explicit presence", () => {
    const { config } = decodeConfig(
      "groups: [{policy: {translate: false, max_retry_body_bytes: 0}, deployments: [{weight: 0}]}]",
    );
    expect(config?.groups[0]?.policy?.translate).toBe(false);
    expect(config?.groups[0]?.policy?.maxRetryBodyBytes).toBe(0n);
    expect(config?.groups[0]?.deployments[0]?.weight).toBe(0);
  });

  test("64-bit integers may be text, as ProtoJSON writes them", () => {
    expect(
      decodeConfig('teams: [{limits: {tpm: "18446744073709551615"}}]').config?.teams[0]?.limits?.tpm,
    ).toBe(2n ** 64n - 1n);
  });

  test("what no integer of the type holds is told in the field's words, not the type's", () => {
    const weight = (text: string) =>
      read(`groups: [{name: g, deployments: [{provider: p, model: m, weight: ${text}}]}]`).faults;
    const path = "groups[0].deployments[0].weight";
    expect(weight("-1")).toEqual([{ path, message: "must not be negative" }]);
    expect(weight("5000000000")).toEqual([{ path, message: "is too large" }]);
  });

  test("free data of a key is kept as it is", () => {
    expect(
      read(
        "keys: [{name: k, user: {sub: s, data: {tier: gold, seat: 4, deep: [1, {x: null}]}}, metadata: {}}]",
      ).data,
    ).toEqual({
      keys: [
        {
          name: "k",
          user: { sub: "s", data: { tier: "gold", seat: 4, deep: [1, { x: null }] } },
          metadata: {},
        },
      ],
    });
  });

  test("an empty text is an empty config", () => {
    expect(read("")).toEqual({ data: {}, faults: [] });
    expect(read("# nothing\n")).toEqual({ data: {}, faults: [] });
  });

  test("anchors are read", () => {
    const text = "groups:\n- {name: a, policy: &p {max_attempts: 2}}\n- {name: b, policy: *p}";
    expect(read(text).data).toEqual({
      groups: [
        { name: "a", policy: { max_attempts: 2 } },
        { name: "b", policy: { max_attempts: 2 } },
      ],
    });
  });
});

describe("durations", () => {
  test.each([
    ["250ms", 0n, 250_000_000, "250ms"],
    ["8s", 8n, 0, "8s"],
    ["5m", 300n, 0, "300s"],
    ["1h", 3600n, 0, "3600s"],
    ["1.5s", 1n, 500_000_000, "1.5s"],
    ["1500ms", 1n, 500_000_000, "1.5s"],
    ["0s", 0n, 0, "0s"],
    ["0.0000001ms", 0n, 1, "0.000000001s"],
  ])("%s", (text, seconds, nanos, written) => {
    const duration = parseDuration(text);
    expect(duration).toMatchObject({ seconds, nanos });
    expect(duration && formatDuration(duration)).toBe(written);
  });

  test.each([
    "",
    "5",
    "s",
    "-1s",
    "1 s",
    "1d",
    "1e3s",
    ".5s",
    "1.s",
    "NaNs",
    "9999999999999s",
    "999999999999h",
  ])("%j is none", (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });
});

describe("texts that cannot be read", () => {
  test("syntax errors tell line and column, and not what stands there", () => {
    const { config, faults } = decodeConfig("groups:\n  - name: [sk-very-secret\n");
    expect(config).toBeUndefined();
    expect(faults[0]?.path).toMatch(/^[23]:\d+$/);
    expect(JSON.stringify(faults)).not.toContain("sk-very-secret");
  });

  test("an alias bomb is refused", () => {
    const levels = Array.from(
      { length: 12 },
      (_, level) => `a${level + 1}: &a${level + 1} [${Array(12).fill(`*a${level}`).join(",")}]`,
    );
    const { faults } = decodeConfig(`a0: &a0 x\n${levels.join("\n")}`);
    expect(faults).toEqual([{ path: "", message: expect.stringContaining("aliases") as string }]);
  });

  test("a second document is refused rather than passed over", () => {
    const { faults } = decodeConfig("teams: []\n---\nkeys: []\n");
    expect(faults).toEqual([
      { path: "2:1", message: expect.stringContaining("multiple documents") as string },
    ]);
  });

  test("absurd nesting is refused", () => {
    expect(decodeConfig("[".repeat(100_000)).faults.length).toBeGreaterThan(0);
    expect(
      decodeConfig(`keys: [{metadata: {a: ${"[".repeat(500)}${"]".repeat(500)}}}]`).faults[0]?.path,
    ).toBe("keys[0].metadata");
  });

  test("a text over 16 MiB is refused", () => {
    expect(decodeConfig(" ".repeat(16 * 1024 * 1024 + 1)).faults).toEqual([
      { path: "", message: "the config is larger than 16 MiB" },
    ]);
  });
});

describe("laws", () => {
  test("decode(encode(config)) is the config", () => {
    fc.assert(
      fc.property(encodable(), (config) => {
        const { config: again, faults } = decodeConfig(JSON.stringify(encodeConfig(config)));
        expect(faults).toEqual([]);
        expect(again).toEqual(config);
      }),
      { numRuns: 150 },
    );
  });

  test("no text makes validation throw", () => {
    const word = fc.constantFrom(
      "groups",
      "keys",
      "name",
      ":",
      "-",
      "[",
      "]",
      "{",
      "}",
      "\n",
      "  ",
      "&a",
      "*a",
      "'",
      '"',
      "|",
      "!!x",
      "1",
      "null",
      "policy",
      "secret",
      "?",
      "%",
      "#",
      "\t",
      "\u0000",
      "<<",
    );
    const garbage = fc.oneof(
      fc.string({ maxLength: 200 }),
      fc.array(word, { maxLength: 60 }).map((words) => words.join(" ")),
      fc.json({ maxDepth: 6 }),
    );
    fc.assert(
      fc.property(garbage, (text) => {
        expect(() => validateConfig(text)).not.toThrow();
      }),
      { numRuns: 400 },
    );
  });

  test("no data in the places of the schema makes validation throw", () => {
    const parts = fc.record(
      Object.fromEntries(
        ["runtime", "projects", "providers", "groups", "keys", "teams", "native_endpoints"].map((name) => [
          name,
          fc.jsonValue({ maxDepth: 5 }),
        ]),
      ),
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(parts, (data) => {
        expect(() => validateConfig(JSON.stringify(data))).not.toThrow();
      }),
      { numRuns: 200 },
    );
  });
});

test("the nearest known name, where one is near", () => {
  const known = ["weighted", "shuffle", "round_robin"];
  expect(nearest("wieghted", known)).toBe("weighted");
  expect(nearest("roundrobin", known)).toBe("round_robin");
  expect(nearest("xxxxxxxx", known)).toBeUndefined();
  expect(nearest("x".repeat(1000), known)).toBeUndefined();
});

test.each(["!!timestamp 2024-10-21", "!!binary aGk=", "!mine x"])("the tag of %s is refused", (value) => {
  const { faults } = decodeConfig(`teams: [{name: ${value}}]`);
  expect(faults.map(({ path }) => path)).toEqual(["1:16"]);
});

import { formatFault, validateConfig } from "@switchyard/config";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { policyOf } from "../support/policy.ts";

const PROVIDER = {
  family: "openai_compatible",
  base_url: "http://127.0.0.1:1/v1",
  credential: { none: true },
};

/** What is found about a list of these models under the preset. */
function findings(
  deployments: readonly object[],
  policy: object = {},
  group: object = {},
): { faults: string; warnings: string } {
  const { faults, warnings } = validateConfig(
    stringify({
      providers: ["openai", "azure"].map((name) => ({ name, ...PROVIDER })),
      groups: [{ name: "g", deployments, policy: { preset: "sticky_list", ...policy }, ...group }],
    }),
  );
  return { faults: faults.map(formatFault).join("\n"), warnings: warnings.map(formatFault).join("\n") };
}

const GPT = [{ provider: "openai", model: "gpt-5" }];
const models = (count: number): object[] =>
  Array.from({ length: count }, (_, index) => ({ provider: "openai", model: `gpt-${index}` }));
const by = (affinity: object): string => findings(GPT, { affinity }).faults;
const expression = (text: string): string => by({ by: "expression", expression: text });

it("R11 'from 1 through 32 models'", () => {
  expect(findings(models(1)).faults).toBe("");
  expect(findings(models(32)).faults).toBe("");
  expect(findings(models(33)).faults).toContain("groups[0].deployments: must list 1 to 32");
  expect(findings([]).faults).toContain("groups[0].deployments: must list 1 to 32");
});

it("R11 'each listed once. Provider names aren't case-sensitive'", () => {
  expect(findings([...GPT, ...GPT]).faults).toContain("groups[0].deployments[1]");
  expect(findings([...GPT, { provider: "OpenAI", model: "gpt-5" }]).faults).toContain("is already listed");
  expect(findings([...GPT, { provider: "azure", model: "gpt-5" }]).faults).toBe("");
});

it("R11 'a model the gateway can't use, such as an unknown provider': refused when saved", () => {
  expect(findings([{ provider: "elsewhere", model: "m" }]).faults).toContain('unknown provider "elsewhere"');
});

it("R11 'every entry must be the same embedding model': a warning", () => {
  const list = [
    { provider: "openai", model: "text-embedding-3-large" },
    { provider: "azure", model: "text-embedding-3-small" },
  ];
  const found = findings(list, {}, { type: "embedding" });
  expect([found.faults, found.warnings.includes("different models")]).toEqual(["", true]);
  const same = list.map((each) => ({ ...each, model: "text-embedding-3-large" }));
  expect(findings(same, {}, { type: "embedding" }).warnings).toBe("");
});

it("R11 'fallbackTimeoutSeconds … from 1 through 300. Defaults to 60'", () => {
  expect(policyOf("sticky_list").attemptTimeoutMs).toBe(60_000);
  for (const good of ["1s", "300s"]) expect(findings(GPT, { attempt_timeout: good }).faults).toBe("");
  for (const bad of ["0s", "999ms", "301s"]) {
    expect(findings(GPT, { attempt_timeout: bad }).faults).toContain("must be from 1s to 300s");
  }
});

it("section 10 'strategy … defaults to round-robin', without a sticky key", () => {
  const { strategy, affinity } = policyOf("sticky_list");
  expect([strategy, affinity?.by]).toEqual(["round_robin", "none"]);
});

it("F3 'stickyBy: user, conversation, expression'", () => {
  for (const kind of ["user", "conversation"]) expect(by({ by: kind })).toBe("");
  expect(by({ by: "weather" })).toContain("groups[0].policy.affinity.by");
});

it("R11 'expression: required when stickyBy is expression, and not allowed otherwise'", () => {
  expect(by({ by: "expression" })).toContain("is missing with");
  expect(by({ by: "user", expression: "request.user.sub" })).toContain('is given without "by: expression"');
});

it("F5 'the same syntax as Metering': what a key can be selected by", () => {
  for (const good of [
    'request.headers.get("x-end-user-id")',
    'request.query.get("tenant")',
    "request.user.sub",
    "request.user.data.plan.seat",
    "request.params.tenant",
    "context.custom.tenant",
  ]) {
    expect(expression(good)).toBe("");
  }
});

it("F5 'an expression outside the syntax is an options error, and the error shows where parsing stopped'", () => {
  const fault = expression("request.user.sub + 1");
  expect(fault).toContain("groups[0].policy.affinity.expression");
  expect(fault).toMatch(/\b1[78]\b/u);
});

it("F5 'it can't compare values, call string methods, or read the request body'", () => {
  for (const bad of [
    'request.user.sub == "a"',
    "request.user.sub.toLowerCase()",
    "request.body.user",
    "request.json()",
  ]) {
    expect(expression(bad)).toContain("groups[0].policy.affinity.expression");
  }
});

it("F5 'per-request identifiers, such as context.requestId, aren't allowed'", () => {
  for (const bad of ["context.requestId", 'request.headers.get("x-request-id")']) {
    expect(expression(bad)).toContain("groups[0].policy.affinity.expression");
  }
});

it("F5 'up to 1024 bytes and 32 property segments'", () => {
  const segments = (count: number): string => `request.user.data${".a".repeat(count)}`;
  expect(expression(segments(20))).toBe("");
  expect(expression(segments(33))).not.toBe("");
  const header = (length: number): string => `request.headers.get("${"x".repeat(length)}")`;
  expect(expression(header(1_024 - header(0).length))).toBe("");
  expect(expression(header(1_025 - header(0).length))).toContain("1024");
});

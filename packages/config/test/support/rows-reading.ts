import { policy, provider, key } from "./parts.ts";
import type { Row } from "./parts.ts";

/** Faults of that kind, one each. */
export const READING: readonly Row[] = [
  [
    "unknown field",
    policy({ strategi: "weighted" }),
    "groups[0].policy.strategi",
    'nearest known one is "strategy"',
  ],
  ["unknown field, nothing near", { colour: 1 }, "colour", 'unknown field "colour"'],
  ["wrong type: number for text", { teams: [{ name: 5 }] }, "teams[0].name", "put it in quotes"],
  [
    "wrong type: text for number",
    policy({ max_attempts: "six" }),
    "groups[0].policy.max_attempts",
    "a whole number, not text",
  ],
  [
    "wrong type: text for yes or no",
    policy({ translate: "yes" }),
    "groups[0].policy.translate",
    "true or false, not text",
  ],
  ["wrong type: mapping for list", { teams: { name: "t" } }, "teams", "a list, not a mapping"],
  ["wrong type: list for mapping", policy({ retry: [] }), "groups[0].policy.retry", "a mapping, not a list"],
  [
    "a fraction",
    policy({ retry: { max_retries: 1.5 } }),
    "groups[0].policy.retry.max_retries",
    "whole number",
  ],
  [
    "not a 32-bit number",
    policy({ max_attempts: -1 }),
    "groups[0].policy.max_attempts",
    "must not be negative",
  ],
  [
    "not exact",
    policy({ max_retry_body_bytes: 2 ** 60 }),
    "groups[0].policy.max_retry_body_bytes",
    "too large to be exact",
  ],
  ["bad enum", policy({ strategy: "wieghted" }), "groups[0].policy.strategy", 'did you mean "weighted"'],
  ["bad enum lists choices", { runtime: { auth: "nobody" } }, "runtime.auth", "is none of keys, open"],
  [
    "bad enum in a list",
    policy({ retry: { on: ["timeout", "slow"] } }),
    "groups[0].policy.retry.on[1]",
    '"slow" is none of',
  ],
  ["bad duration", policy({ request_timeout: "60" }), "groups[0].policy.request_timeout", "250ms"],
  [
    "duration as a number",
    policy({ bench: { window: 60 } }),
    "groups[0].policy.bench.window",
    "not a number",
  ],
  ["negative duration", { runtime: { drain: "-1s" } }, "runtime.drain", "must not be negative"],
  [
    "two of a oneof",
    key({ secret: { env: "A", file: "b" } }),
    "keys[0].secret",
    '"env" and "file" are both given',
  ],
  [
    "two amounts",
    key({ budget: { usd: 1, tokens: 1, period: "day" } }),
    "keys[0].budget",
    "only one of usd, tokens, requests",
  ],
  ["null in a list", key({ groups: ["chat", null] }), "keys[0].groups[1]", "not empty"],
  ["literal secret", provider({ credential: "sk-live-123" }), "providers[0].credential", "{ env: NAME }"],
  ["literal secret of a key", key({ secret: "sk-live-123" }), "keys[0].secret", "{ sha256: HEX }"],
  ["free data that is none", key({ metadata: [] }), "keys[0].metadata", "a mapping"],
];

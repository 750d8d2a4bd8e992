import { policy, provider, key, deployments, native } from "./parts.ts";
import type { Row } from "./parts.ts";

/** Faults of that kind, one each. */
export const STRUCTURE: readonly Row[] = [
  ["missing name", { teams: [{}] }, "teams[0].name", "missing"],
  ["name with spaces", { projects: [{ name: "a b" }] }, "projects[0].name", "letters, digits"],
  [
    "missing family",
    provider({ family: null }),
    "providers[0].family",
    "is missing; give one of openai, azure_openai",
  ],
  ["missing secret", key({ secret: null }), "keys[0].secret", "is missing"],
  ["empty secret", key({ secret: {} }), "keys[0].secret", "needs one of env, file, sha256"],
  [
    "empty credential",
    provider({ credential: {} }),
    "providers[0].credential",
    "needs one of env, file, none",
  ],
  ["none: false", provider({ credential: { none: false } }), "providers[0].credential.none", "only be true"],
  ["bad sha256", key({ secret: { sha256: "abc" } }), "keys[0].secret.sha256", "64 hexadecimal digits"],
  [
    "R11 weight out of range",
    deployments({ provider: "openai", model: "m", weight: 1_000_001 }),
    "groups[0].deployments[0].weight",
    "at most 1000000",
  ],
  [
    "too many retries",
    policy({ retry: { max_retries: 21 } }),
    "groups[0].policy.retry.max_retries",
    "at most 20",
  ],
  ["no attempts", policy({ max_attempts: 0 }), "groups[0].policy.max_attempts", "at least 1"],
  [
    "R11 cache lifetime too short",
    policy({ cache: { enabled: true, lifetime: "0s" } }),
    "groups[0].policy.cache.lifetime",
    "at least 1s",
  ],
  [
    "R11 cache lifetime too long",
    policy({ cache: { lifetime: "86401s" } }),
    "groups[0].policy.cache.lifetime",
    "at most 86400s",
  ],
  ["class twice", policy({ bench: { on: ["timeout", "timeout"] } }), "groups[0].policy.bench.on", "twice"],
  ["grant twice", key({ groups: ["chat", "chat"] }), "keys[0].groups", "twice"],
  [
    "F5 long expression",
    policy({ affinity: { by: "expression", expression: "x".repeat(1025) } }),
    "groups[0].policy.affinity.expression",
    "at most 1024 bytes",
  ],
  [
    "budget without amount",
    key({ budget: { period: "day" } }),
    "keys[0].budget",
    "needs one of usd, tokens, requests",
  ],
  ["budget without period", key({ budget: { usd: 1 } }), "keys[0].budget.period", "one of day, month"],
  ["native path", native("v1"), "native_endpoints[0].path", "start with /"],
  ["no native family", native("/v1/x", []), "native_endpoints[0].provider_families", "must not be empty"],
  [
    "an unknown native family",
    native("/v1/x", ["opnai"]),
    "native_endpoints[0].provider_families[0]",
    "openai",
  ],
  [
    "a native family twice",
    native("/v1/x", ["openai", "openai"]),
    "native_endpoints[0].provider_families",
    "twice",
  ],
  [
    "no NATS server",
    { runtime: { bus: { nats: { servers: [] } } } },
    "runtime.bus.nats.servers",
    "must not be empty",
  ],
  ["body bound", { runtime: { max_body_bytes: 0 } }, "runtime.max_body_bytes", "at least 1"],
];

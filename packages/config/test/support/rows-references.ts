import { openai, chat, group, policy, provider, key, listen, deployments, many, named } from "./parts.ts";
import type { Row } from "./parts.ts";

/** Faults of that kind, one each. */
export const REFERENCES: readonly Row[] = [
  [
    "provider name twice, whatever the case",
    { providers: [openai, { ...openai, name: "OpenAI" }] },
    "providers[1].name",
    "already that of providers[0]",
  ],
  ["group name twice", { groups: [chat, chat] }, "groups[1].name", "already that of groups[0]"],
  [
    "key name twice",
    {
      keys: [
        { name: "k", secret: { env: "A" } },
        { name: "k", secret: { env: "B" } },
      ],
    },
    "keys[1].name",
    "already",
  ],
  ["team name twice", { teams: [{ name: "t" }, { name: "t" }] }, "teams[1].name", "already"],
  ["project name twice", { projects: [{ name: "p" }, { name: "p" }] }, "projects[1].name", "already"],
  [
    "native path twice",
    { native_endpoints: [1, 2].map(() => ({ path: "/v1/x", provider_families: ["openai"] })) },
    "native_endpoints[1].path",
    "already",
  ],
  ["line end in a name", group({ name: "a\nb" }), "groups[0].name", "control characters"],
  ["space around a name", group({ name: " chat" }), "groups[0].name", "white space"],
  ["R11 no deployment", deployments(), "groups[0].deployments", "1 to 32 deployments, not 0"],
  ["R11 33 deployments", deployments(...many(33)), "groups[0].deployments", "not 33"],
  [
    "R11 listed twice",
    deployments({ provider: "openai", model: "m" }, { provider: "OPENAI", model: "m" }),
    "groups[0].deployments[1]",
    "needs an explicit id",
  ],
  [
    "R11 id twice",
    deployments({ provider: "openai", model: "m", id: "a" }, { provider: "openai", model: "n", id: "a" }),
    "groups[0].deployments[1].id",
    '"a" is already the id',
  ],
  [
    "R11 unknown provider",
    deployments({ provider: "opnai", model: "m" }),
    "groups[0].deployments[0].provider",
    'unknown provider "opnai" (did you mean "openai"?)',
  ],
  ["bedrock without a region", provider({ family: "bedrock" }), "providers[0].region", "is missing"],
  [
    "bedrock with an address for a region",
    provider({ family: "bedrock_mantle", region: "evil.example/" }),
    "providers[0].region",
    "is no AWS region",
  ],
  [
    "K6 percent total",
    {
      groups: [
        {
          name: "g",
          deployments: [
            { provider: "openai", model: "a", weight: 60 },
            { provider: "openai", model: "b", weight: 30 },
          ],
          policy: { weights: "percent" },
        },
      ],
    },
    "groups[0].deployments",
    "weights total 90",
  ],
  [
    "K6 percent by preset",
    {
      groups: [
        {
          name: "g",
          deployments: [
            { provider: "openai", model: "a" },
            { provider: "openai", model: "b", weight: 30 },
          ],
          policy: { preset: "weighted_primary" },
        },
      ],
    },
    "groups[0].deployments",
    "weights total 130",
  ],
  [
    "azure_openai needs base_url",
    provider({ family: "azure_openai" }),
    "providers[0].base_url",
    "no address of its own",
  ],
  [
    "openai_compatible needs base_url",
    provider({ family: "openai_compatible" }),
    "providers[0].base_url",
    "no address of its own",
  ],
  [
    "base_url is no URL",
    provider({ base_url: "api.openai.com" }),
    "providers[0].base_url",
    "http:// or https://",
  ],
  [
    "base_url of another scheme",
    provider({ base_url: "ftp://a" }),
    "providers[0].base_url",
    "http:// or https://",
  ],
  [
    "base_url with a password",
    provider({ base_url: "https://u:pw-secret@a" }),
    "providers[0].base_url",
    "user name or password",
  ],
  ["base_url with a query", provider({ base_url: "https://a/?x=1" }), "providers[0].base_url", "a query"],
  ["base_url with a fragment", provider({ base_url: "https://a/#x" }), "providers[0].base_url", "a fragment"],
  [
    "a secret as the name of a variable",
    provider({ credential: { env: "sk-live-123" } }),
    "providers[0].credential.env",
    "name of an environment variable",
  ],
  [
    "a secret as a path",
    key({ secret: { file: "sk-live-123456789012" } }),
    "keys[0].secret.file",
    "looks like a secret",
  ],
  [
    "R11 expression without by",
    policy({ affinity: { expression: "request.user.sub" } }),
    "groups[0].policy.affinity.expression",
    'without "by: expression"',
  ],
  [
    "a class twice in a bench table",
    policy({ bench: { table: [{ error: "auth" }, { error: "auth" }] } }),
    "groups[0].policy.bench.table[1].error",
    "already that of",
  ],
  [
    "a scope of nothing in a bench table",
    policy({ bench: { table: [{ error: "auth", scope: "provider" }] } }),
    "groups[0].policy.bench.table[0].scope",
    "without a cooloff",
  ],
  [
    "F5 an expression that does not parse",
    policy({ affinity: { by: "expression", expression: "request.body.user" } }),
    "groups[0].policy.affinity.expression",
    "at position 9 where",
  ],
  [
    "F5 an identifier of the request",
    policy({ affinity: { by: "expression", expression: "context.requestId" } }),
    "groups[0].policy.affinity.expression",
    "differs from request to request",
  ],
  [
    "R11 by without expression",
    policy({ affinity: { by: "expression" } }),
    "groups[0].policy.affinity.expression",
    'missing with "by: expression"',
  ],
  [
    "R11 sticky_list bounds times",
    policy({ preset: "sticky_list", attempt_timeout: "301s" }),
    "groups[0].policy.attempt_timeout",
    "from 1s to 300s",
  ],
  [
    "R11 sticky_list needs a time",
    policy({ preset: "sticky_list", attempt_timeout: "0s" }),
    "groups[0].policy.attempt_timeout",
    "from 1s to 300s",
  ],
  ["falling ramp", policy({ bench: { ramp: [25, 10] } }), "groups[0].policy.bench.ramp[1]", "higher"],
  ["a time of weeks", policy({ request_timeout: "25h" }), "groups[0].policy.request_timeout", "at most 24h"],
  [
    "unknown fallback",
    policy({ fallback: { general: "caht" } }),
    "groups[0].policy.fallback.general",
    'unknown group "caht"',
  ],
  [
    "unknown default fallback",
    { projects: [{ name: "default", default_fallbacks: ["chat", "x"] }] },
    "projects[0].default_fallbacks[1]",
    'unknown group "x"',
  ],
  [
    "R11 self fallback",
    { groups: [named("a", { context: "a" })] },
    "groups[0].policy.fallback.context",
    "falls back to itself: a -> a",
  ],
  [
    "R11 loop over kinds",
    { groups: [named("a", { general: "b" }), named("b", { content: "c" }), named("c", { quota: "a" })] },
    "groups[0].policy.fallback.general",
    "a -> b -> c -> a",
  ],
  [
    "G3 loop through defaults",
    {
      projects: [{ name: "default", default_fallbacks: ["b"] }],
      groups: [named("a"), named("b", { context: "a" })],
    },
    "projects[0].default_fallbacks[0]",
    "a -> b -> a",
  ],
  [
    "R11 fallback across projects",
    { groups: [named("a", { general: "b" }), { ...named("b"), project: "other" }] },
    "groups[0].policy.fallback.general",
    'is in project "other"',
  ],
  ["unknown grant", key({ groups: ["chatt"] }), "keys[0].groups[0]", 'did you mean "chat"'],
  [
    "grant across projects",
    {
      groups: [{ ...chat, project: "other" }],
      keys: [{ name: "k", secret: { env: "K" }, groups: ["chat"] }],
    },
    "keys[0].groups[0]",
    "nothing crosses projects",
  ],
  ["unknown team", key({ team: "red" }), "keys[0].team", 'unknown team "red"'],
  ["unknown project", key({ project: "defualt", groups: [] }), "keys[0].project", 'did you mean "default"'],
  ["R3 pinned to none", key({ ignore_model: true, groups: [] }), "keys[0].ignore_model", "exactly one group"],
  [
    "same variable twice",
    {
      keys: [
        { name: "a", secret: { env: "K" } },
        { name: "b", secret: { env: "K" } },
      ],
    },
    "keys[1].secret",
    "already that of keys[0]",
  ],
  [
    "same hash twice",
    {
      keys: [
        { name: "a", secret: { sha256: "ab".repeat(32) } },
        { name: "b", secret: { sha256: "AB".repeat(32) } },
      ],
    },
    "keys[1].secret",
    "already that of keys[0]",
  ],
  ["address without port", listen({ http: "127.0.0.1" }), "runtime.listen.http", "host:port"],
  ["port out of range", listen({ ops: "127.0.0.1:65536" }), "runtime.listen.ops", "host:port"],
  [
    "port twice",
    listen({ http: "127.0.0.1:7000", rpc: "0.0.0.0:7000" }),
    "runtime.listen.rpc",
    "already that of runtime.listen.http",
  ],
  [
    "open to the world",
    { runtime: { auth: "open", listen: { http: "0.0.0.0:8080" } } },
    "runtime.auth",
    "change runtime.listen.http",
  ],
  [
    "open on all interfaces",
    { runtime: { auth: "open", listen: { ops: ":9090" } } },
    "runtime.auth",
    "change runtime.listen.ops",
  ],
  [
    "peer of another scheme",
    { runtime: { router: { urls: ["grpc://a"] } } },
    "runtime.router.urls[0]",
    "http://",
  ],
  [
    "password in a NATS URL",
    { runtime: { bus: { nats: { servers: ["nats://u:pw-secret@a:4222"] } } } },
    "runtime.bus.nats.servers[0]",
    "user name or password",
  ],
  [
    "two NATS logins",
    { runtime: { bus: { nats: { servers: ["a:1"], token: { env: "T" }, creds: { file: "/c" } } } } },
    "runtime.bus.nats",
    "token and creds",
  ],
  [
    "NATS user without password",
    { runtime: { bus: { nats: { servers: ["a:1"], user: "u" } } } },
    "runtime.bus.nats.password",
    "missing beside user",
  ],
];

import { describe, expect, it } from "vitest";
import { decide, type DecideInput, type Endpoint, type Group, type RequestFacts } from "../src/index.ts";
import { benched, brief, config, deployment, facts, group, input, key, run, T0 } from "./builders.ts";

function first(
  groups: readonly Group[],
  request: Partial<RequestFacts> = {},
  more: Partial<DecideInput> = {},
) {
  return input(config(groups), { request: { facts: facts(request), key: key(["g"]) }, ...more });
}

const off = { paused: true };
const endpoints = (...names: Endpoint[]) => new Set<Endpoint>(names);

describe("filters", () => {
  it("R4 skips a deployment bound to another type", () => {
    const typed = group("g", [deployment("a/m", { type: "embedding" }), deployment("b/m")]);
    expect(brief(decide(first([typed])))).toBe("b/m");
    const only = group("g", [deployment("a/m", { type: "chat" })]);
    expect(brief(decide(first([only], { endpoint: "embeddings" })))).toBe("400 embeddings_not_supported");
  });

  it("R5 counts a translation as serving unless the policy says not", () => {
    const one = deployment("a/m", { native: endpoints("chat"), translated: endpoints("messages") });
    const request = { endpoint: "messages", path: "/v1/messages" } as const;
    expect(brief(decide(first([group("g", [one])], request)))).toBe("a/m");
    const strict = decide(first([group("g", [one], { translate: false })], request)).decision;
    expect(strict).toMatchObject({ status: 400, code: "endpoint_not_supported" });
    expect(strict).toHaveProperty("message", expect.stringMatching(/\/v1\/messages.*Messages API/));
  });

  it("R5 skips families for embeddings although they could", () => {
    const azure = deployment("az/m", { family: "azure_openai" });
    const request = { endpoint: "embeddings", path: "/v1/embeddings" } as const;
    expect(brief(decide(first([group("g", [azure, deployment("b/m", { weight: 0 })])], request)))).toBe(
      "503 no_deployment_available",
    );
    expect(brief(decide(first([group("g", [azure, "b/m"])], request)))).toBe("b/m");
    expect(brief(decide(first([group("g", [azure])], request)))).toBe("400 embeddings_not_supported");
  });

  it("R6 refuses without a hop when all are paused, or all weigh 0 under weighted", () => {
    const backup = group("backup", ["z/m"]);
    const policy = { fallback: { general: "backup" } };
    for (const shape of [off, { weight: 0 }]) {
      const stuck = group("g", [deployment("a/m", shape), deployment("b/m", shape)], policy);
      expect(brief(decide(first([stuck, backup])))).toBe("503 no_deployment_available");
    }
  });

  it("R1 gives the refusal of the filter that emptied the set", () => {
    const mixed = group("g", [deployment("a/m", { native: endpoints() }), deployment("b/m", off)]);
    expect(brief(decide(first([mixed])))).toBe("503 no_deployment_available");
    const late = group("g", [deployment("a/m", off), "b/m"], { bench: { whenAllBenched: "refuse" } });
    const health = benched({ "m:b/m": T0 + 5_000 });
    expect(brief(decide(first([late], {}, { health })))).toBe("503 upstream_unavailable");
  });

  it("R10 skips a provider without a credential, and refuses or hops when none is ready", () => {
    const load = { notReady: new Set(["a"]), places: new Map<string, number>() };
    expect(brief(decide(first([group("g", ["a/m", "b/m"])], {}, { load })))).toBe("b/m");
    expect(brief(decide(first([group("g", ["a/m"])], {}, { load })))).toBe("503 provider_not_ready");
    const hops = group("g", ["a/m"], { fallback: { general: "backup" } });
    expect(brief(decide(first([hops, group("backup", ["z/m"])], {}, { load })))).toBe("z/m");
  });

  it("R10 a credential found missing moves on, and uses no attempt and no deployment", () => {
    const tight = group("g", ["a/m", "b/m"], { maxAttempts: 1, failover: { maxDeployments: 1 } });
    expect(
      run(first([tight]), [{ error: "not_ready" }])
        .map(brief)
        .toSorted(),
    ).toEqual(["a/m", "b/m"]);
    const one = run(first([group("g", ["a/m"])]), [{ error: "not_ready" }]);
    expect(one.map(brief)).toEqual(["a/m", "503 provider_not_ready"]);
  });

  it("E9 a caller's own key stays at its provider, ready or not", () => {
    const own = { ownKeyProvider: "b" };
    const load = { notReady: new Set(["b"]), places: new Map<string, number>() };
    const both = group("g", ["a/m", "b/m", deployment("b/n")], { retry: { maxRetries: 0 } });
    const all = run(first([both], own, { load }), [{ error: "overloaded" }, { error: "overloaded" }]);
    expect(all.map(brief).toSorted()).toEqual(["502 upstream_unreachable", "b/m", "b/n"]);
    expect(brief(decide(first([both], { ownKeyProvider: "c" })))).toBe("400 invalid_provider_key");
  });
});

describe("benches", () => {
  const pair = (override = {}) => group("g", ["a/m", "b/m"], override);

  it.each(["d:p/g:a/m", "m:a/m", "p:a"])("skips what %s benches, until it ends", (scope) => {
    const health = benched({ [scope]: T0 + 1_000 });
    for (let seed = 0; seed < 20; seed += 1) {
      expect(brief(decide(first([pair()], {}, { health, seed })))).toBe("b/m");
    }
    const seeds = Array.from({ length: 20 }, (_, seed) => ({ health, seed, now: T0 + 1_000 }));
    expect(seeds.some((at) => brief(decide(first([pair()], {}, at))) === "a/m")).toBe(true);
  });

  it("R7 try_soonest tries the one whose bench ends first, once, and does not retry it", () => {
    const health = benched({ "m:a/m": T0 + 9_000, "m:b/m": T0 + 5_000 });
    const all = run(first([pair()], {}, { health }), [{ error: "server_error", status: 500 }]);
    expect(all.map(brief)).toEqual(["b/m", "502 upstream_unreachable"]);
    expect(all[0]?.decision).toMatchObject({ lastResort: true, step: "last_resort" });
    expect(all[1]?.decision).toMatchObject({ exhausted: true });
  });

  it("R7 refuse answers with the soonest end, after a fallback was tried", () => {
    const health = benched({ "m:a/m": T0 + 9_000, "m:b/m": T0 + 5_000 });
    const refuse = { bench: { whenAllBenched: "refuse" } } as const;
    expect(decide(first([pair(refuse)], {}, { health })).decision).toMatchObject({
      status: 503,
      code: "upstream_unavailable",
      retryAfterMs: 5_000,
    });
    const withFallback = pair({ ...refuse, fallback: { general: "backup" } });
    const decided = decide(first([withFallback, group("backup", ["z/m"])], {}, { health }));
    expect(decided.decision).toMatchObject({ step: "hop", fallback: "general" });
    const paused = group("backup", [deployment("z/m", off)]);
    expect(decide(first([withFallback, paused], {}, { health })).decision).toMatchObject({
      code: "upstream_unavailable",
      retryAfterMs: 5_000,
    });
  });

  it("B1 a group whose bench is off heeds benches made by hand, not other policies'", () => {
    const never = pair({ bench: { failures: 0, whenAllBenched: "refuse" } });
    const both = { "m:a/m": T0 + 9_000, "m:b/m": T0 + 9_000 };
    const ask = (of: object) => brief(decide(first([never], {}, { health: benched(both, of) })));
    expect(ask({ group: "p/other" })).toMatch(/^[ab]\/m$/);
    expect(ask({ group: undefined, reason: "manual" })).toBe("503 upstream_unavailable");
    expect(ask({ group: "p/g", reason: "retry_after" })).toBe("503 upstream_unavailable");
  });
});

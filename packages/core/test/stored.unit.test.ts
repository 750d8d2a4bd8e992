import { describe, expect, it } from "vitest";
import { type CallerKey, decide, type Group, type RequestFacts } from "../src/index.ts";
import { brief, config, deployment, facts, group, input, key, run } from "./builders.ts";
import type { PolicyOverride } from "./builders.ts";

const native = new Set(["responses"] as const);
const keeping = { native, stores: true };
const once: PolicyOverride = { retry: { maxRetries: 0 } };

const two = (name = "g"): Group =>
  group(name, [deployment("a/m", keeping), deployment("b/m", keeping)], once);
const READ = { endpoint: "responses", storedResponse: true, path: "/v1/responses/resp_1" } as const;
const CREATE = { endpoint: "responses", store: true, path: "/v1/responses" } as const;

function ask(
  groups: readonly Group[],
  request: Partial<RequestFacts>,
  caller: CallerKey = key(groups.map(({ name }) => name)),
): string {
  return brief(decide(input(config(groups), { request: { facts: facts(request), key: caller } })));
}

const keptBy = (provider: string, made = "g"): Partial<RequestFacts> => ({
  ...READ,
  model: undefined,
  kept: { provider, group: `p/${made}`, servedBy: `p/${made}` },
});

describe("P8 stored responses", () => {
  it("goes to the account that keeps it, with any strategy, and names no group", () => {
    for (const strategy of ["weighted", "shuffle", "round_robin", "lowest_latency"] as const) {
      const groups = [{ ...two(), policy: { ...two().policy, strategy } }, two("h")];
      expect(ask(groups, keptBy("a"))).toBe("a/m");
      expect(ask(groups, keptBy("b"))).toBe("b/m");
    }
  });

  it("the key must be granted the group that made it", () => {
    const groups = [two(), two("h")];
    expect(ask(groups, keptBy("a", "h"), key(["g"]))).toBe("404 not_found");
    expect(ask(groups, keptBy("a", "gone"))).toBe("404 not_found");
  });

  it("so must the groups that made what else is named", () => {
    const groups = [two(), two("h"), { ...two("other"), project: "q", key: "q/other" }];
    const naming = (...others: string[]): Partial<RequestFacts> => ({
      ...READ,
      kept: { provider: "a", group: "p/g", servedBy: "p/g", others },
    });
    const caller = key(["g", "other"]);
    expect(ask(groups, naming(), caller)).toBe("a/m");
    expect(ask(groups, naming("p/g"), caller)).toBe("a/m");
    for (const other of ["p/h", "q/other", "p/gone"]) {
      expect(ask(groups, naming("p/g", other), caller)).toBe("404 not_found");
    }
  });

  it("one that was made in a fallback group is read there, by a grant on the group that was asked", () => {
    const served = group("f", [deployment("c/m", keeping)], once);
    const kept = { provider: "c", group: "p/g", servedBy: "p/f" };
    expect(ask([two(), served], { ...READ, model: undefined, kept }, key(["g"]))).toBe("c/m");
  });

  it("a request to go on may name another group that has the account", () => {
    const other = group("h", [deployment("a/other", keeping), deployment("b/other", keeping)], once);
    expect(ask([two(), other], { ...keptBy("b"), model: "h" })).toBe("b/other");
    const without = group("h", [deployment("c/m", keeping)], once);
    expect(ask([two(), without], { ...keptBy("b"), model: "h" })).toBe("b/m");
  });

  it("unknown id: the list's only storing provider, else 400", () => {
    const only = group("g", [deployment("a/m", keeping), deployment("c/m", { native })], once);
    expect(ask([only], { ...READ, model: "g" })).toBe("a/m");
    expect(ask([two()], { ...READ, model: "g" })).toBe("400 stored_response_not_routable");
    expect(ask([two()], { ...READ, model: undefined })).toBe("400 stored_response_not_routable");
    const none = group("n", [deployment("c/m", { native })], once);
    expect(ask([none], { ...READ, model: "n" })).toBe("400 stored_response_not_routable");
    expect(ask([only, none], { ...READ, model: undefined })).toBe("a/m");
    expect(ask([only, two("h")], { ...READ, model: undefined })).toBe("400 stored_response_not_routable");
  });

  it("unknown id with an affinity key: where the key places it", () => {
    const sticky = group("g", [deployment("a/m", keeping), deployment("b/m", keeping)], {
      ...once,
      affinity: { by: "session", expression: undefined },
    });
    const places = [1, 2, 3, 4, 5, 6].map((session) =>
      ask([sticky], { ...READ, model: "g", affinity: { session: session * 977 } }),
    );
    expect(new Set(places)).toEqual(new Set(["a/m", "b/m"]));
  });

  it("F4: a conversation's key is made of the new turn, so it does not say who keeps the response", () => {
    const sticky = group("g", [deployment("a/m", keeping), deployment("b/m", keeping)], {
      ...once,
      affinity: { by: "conversation", expression: undefined },
    });
    const request = { ...READ, model: "g", affinity: { conversation: 977 } };
    expect(ask([sticky], request)).toBe("400 stored_response_not_routable");
    expect(ask([sticky], { ...request, kept: { provider: "b", group: "p/g", servedBy: "p/g" } })).toBe("b/m");
  });

  it("a family that stores nothing gets a create only where it need not be kept, or nobody keeps it", () => {
    const mixed = group("g", [deployment("c/m", { native, weight: 1e6 }), deployment("a/m", keeping)], once);
    expect(ask([mixed], { ...CREATE, model: "g" })).toBe("a/m");
    expect(ask([mixed], { ...CREATE, store: false, model: "g" })).toBe("c/m");
    const translated = new Set(["responses"] as const);
    const none = group("g", [deployment("c/m", { translated })], once);
    expect(ask([none], { ...CREATE, model: "g" })).toBe("c/m");
  });

  it("E11: no other deployment, however it ends", () => {
    const request = { facts: facts({ ...keptBy("a") }), key: key(["g"]) };
    const steps = run(input(config([two()]), { request }), [{ error: "overloaded" }]);
    expect(steps.map(brief)).toEqual(["a/m", "502 upstream_unreachable"]);
  });
});

describe("BH-31 encrypted contents", () => {
  it("go to the account that made them where it can serve, else on", () => {
    const groups = [two()];
    const origin = { ...CREATE, store: false, model: "g" };
    for (const originProvider of ["a", "b"]) {
      expect(ask(groups, { ...origin, originProvider })).toBe(`${originProvider}/m`);
    }
    const request = { facts: facts({ ...origin, originProvider: "b" }), key: key(["g"]) };
    const steps = run(input(config(groups), { request }), [{ error: "overloaded" }]);
    expect(steps.map(brief)).toEqual(["b/m", "a/m"]);
    expect(ask(groups, { ...origin, originProvider: "elsewhere" })).toMatch(/^[ab]\/m$/u);
  });
});

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AffinityHashes,
  affinityNeeds,
  type AffinityPolicy,
  type CallerKey,
  decide,
  type Group,
  hashKey,
  highestScore,
  sessionHash,
} from "../src/index.ts";
import { benched, brief, config, deployment, facts, group, input, key, run, T0 } from "./builders.ts";
import type { PolicyOverride } from "./builders.ts";

const KEYS = 10_000;
const hashes = Array.from({ length: KEYS }, (_, index) => hashKey(`user-${index}`));

function list(weights: readonly number[]) {
  return weights.map((weight, index) => deployment(`p${index}/m`, { weight }));
}

/** Which deployment each of the keys has, by id. */
function owners(deployments: ReturnType<typeof list>, eligible = -1): string[] {
  const all = deployments.length === 32 ? -1 : (1 << deployments.length) - 1;
  return hashes.map((hash) => deployments[highestScore(deployments, eligible & all, hash)]?.id ?? "");
}

describe("rendezvous hashing", () => {
  it("F1 adding one of 10 deployments moves 9 to 11 % of 10,000 keys, all of them to the new one", () => {
    const before = owners(list(Array.from({ length: 9 }, () => 1)));
    const after = owners(list(Array.from({ length: 10 }, () => 1)));
    const moved = after.filter((id, index) => id !== before[index]);
    expect(moved.length / KEYS).toBeGreaterThan(0.09);
    expect(moved.length / KEYS).toBeLessThan(0.11);
    expect(new Set(moved)).toEqual(new Set(["p9/m"]));
  });

  it("F1, F2 whatever the weights: one that comes moves keys only to itself, one that goes only its own", () => {
    const weights = fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 2, maxLength: 32 });
    fc.assert(
      fc.property(weights, fc.nat(), fc.array(fc.nat(), { maxLength: 200 }), (given, which, keys) => {
        const deployments = list(given);
        const gone = which % given.length;
        const all = given.length === 32 ? -1 : (1 << given.length) - 1;
        const rest = all & ~(1 << gone);
        const smaller = deployments.filter((_, index) => index !== gone);
        for (const hash of keys) {
          const owner = highestScore(deployments, all, hash);
          const left = highestScore(deployments, rest, hash);
          if (owner !== gone) expect(left).toBe(owner);
          const without = smaller[highestScore(smaller, (1 << smaller.length) - 1 || -1, hash)]?.id;
          expect(without).toBe(deployments[left]?.id);
        }
      }),
      { numRuns: 100 },
    );
  });

  it.each([[[1, 1, 1, 1]], [[7, 3]], [[50, 30, 15, 5]], [[1, 1, 2, 4, 8]]])(
    "F2 shares over many keys follow weights %j within 1.5 points",
    (weights) => {
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      const all = owners(list(weights));
      for (const [index, weight] of weights.entries()) {
        const share = (100 * all.filter((id) => id === `p${index}/m`).length) / KEYS;
        expect(Math.abs(share - (100 * weight) / total)).toBeLessThanOrEqual(1.5);
      }
    },
  );

  it("F2 weight 0 takes a key only when nothing of any weight is left", () => {
    expect(new Set(owners(list([1, 0, 2])))).toEqual(new Set(["p0/m", "p2/m"]));
    expect(new Set(owners(list([1, 0, 0]), 0b110)).size).toBe(2);
  });

  it("F1 the place of a key is the same in every version", () => {
    expect([hashKey(""), hashKey("a"), hashKey("ab"), hashKey("user-1")]).toEqual([
      3_954_623_016, 298_494_453, 1_395_310_093, 3_803_552_663,
    ]);
    const first = owners(list([1, 2, 3])).slice(0, 6);
    expect(first.join(" ")).toBe("p2/m p0/m p1/m p2/m p2/m p2/m");
  });
});

const by = (affinity: AffinityPolicy, more: PolicyOverride = {}): Group =>
  group("g", ["a/m", "b/m", "c/m", "d/m"], { affinity, failover: { order: "strategy" }, ...more });

/** First picks for 30 seeds: one when the request is placed by a key. */
function places(
  of: Group,
  affinity: AffinityHashes | undefined,
  caller: Partial<CallerKey> = {},
): Set<string> {
  const request = { facts: facts({ affinity }), key: key(["g"], caller) };
  return new Set(
    Array.from({ length: 30 }, (_, seed) =>
      brief(decide(input(config([of]), { request, seed: seed * 7919 }))),
    ),
  );
}

describe("placing by affinity", () => {
  const session: AffinityPolicy = { by: "session", expression: undefined };

  it("F1 the same key goes to the same deployment, whatever the draw", () => {
    expect(places(by(session), { session: 1234 }).size).toBe(1);
    const many = Array.from(
      { length: 50 },
      (_, hash) => [...places(by(session), { session: hash * 99991 })][0],
    );
    expect(new Set(many).size).toBe(4);
  });

  it("F2 a benched one is passed over, and the session returns when it recovers", () => {
    const of = by(session);
    const request = { facts: facts({ affinity: { session: 77 } }), key: key(["g"]) };
    const home = brief(decide(input(config([of]), { request })));
    const away = input(config([of]), { request, health: benched({ [`m:${home}`]: T0 + 1_000 }) });
    expect(brief(decide(away))).not.toBe(home);
    expect(brief(decide({ ...away, now: T0 + 1_000 }))).toBe(home);
  });

  it("S2 under order strategy the second-highest score follows; under weight the heaviest", () => {
    const request = { facts: facts({ affinity: { session: 77 } }), key: key(["g"]) };
    const sticky = by(session);
    const [one, two] = run(input(config([sticky]), { request }), [{ error: "auth" }]);
    expect(one?.decision).toMatchObject({
      next: two?.decision.kind === "attempt" && two.decision.deployment.id,
    });
    const without = sticky.deployments.filter(({ id }) => id !== brief(one as NonNullable<typeof one>));
    const smaller = { ...sticky, deployments: without };
    expect(brief(decide(input(config([smaller]), { request })))).toBe(brief(two as NonNullable<typeof two>));
    const heavy = group("g", ["a/m", "b/m", deployment("z/m", { weight: 9 })], { affinity: session });
    const placed = run(input(config([heavy]), { request }), [{ error: "auth" }]).map(brief);
    if (placed[0] !== "z/m") expect(placed[1]).toBe("z/m");
  });

  it("F3 session falls back to the caller; two callers are two keys", () => {
    expect(places(by(session), undefined).size).toBe(1);
    const homes = Array.from({ length: 40 }, (_, index) => [
      ...places(by(session), undefined, { name: `key-${index}` }),
    ]);
    expect(new Set(homes.flat()).size).toBe(4);
  });

  it("F3 user goes by the key's user.sub, else its name", () => {
    const user: AffinityPolicy = { by: "user", expression: undefined };
    const named = places(by(user), undefined, { name: "alice" });
    const sub = places(by(user), undefined, { name: "other", user: { sub: "alice", data: undefined } });
    expect(named.size).toBe(1);
    expect(sub).toEqual(named);
  });

  it("F3 callers without a key are not one caller", () => {
    const open = key(["g"], { name: "open" });
    const snapshot = { ...config([by(session)]), openKey: open };
    const request = { facts: facts(), key: open };
    const ids = Array.from({ length: 40 }, (_, seed) =>
      brief(decide(input(snapshot, { request, seed: seed * 7919 }))),
    );
    expect(new Set(ids).size).toBe(4);
  });

  it("F3, F5 an expression over the key needs no word from the caller; one over the request needs its hash", () => {
    const metadata = { tenant: { id: "acme" } };
    const own: AffinityPolicy = { by: "expression", expression: "context.custom.tenant.id" };
    expect(places(by(own), undefined, { metadata }).size).toBe(1);
    expect(places(by(own), undefined).size).toBe(4);
    const source = 'request.headers.get("x-end-user-id")';
    const header: AffinityPolicy = { by: "expression", expression: source };
    expect(places(by(header), { expressions: new Map([[source, 5]]) }).size).toBe(1);
    expect(places(by(header), { expressions: new Map([["another", 5]]) }).size).toBe(4);
  });

  it("F4 without text there is no key, and the request takes the strategy", () => {
    const conversation: AffinityPolicy = { by: "conversation", expression: undefined };
    expect(places(by(conversation), { conversation: hashKey("be brief, hi") }).size).toBe(1);
    expect(places(by(conversation), { session: 5 }).size).toBe(4);
  });

  it("F3 the first candidate that says something names the session", () => {
    expect(sessionHash([undefined, "", 5, "s1", "s2"])).toBe(hashKey("s1"));
    expect(sessionHash([undefined, ""])).toBeUndefined();
  });

  it("F3 a config says which keys its groups ask for, so that no others need be made", () => {
    const source = 'request.headers.get("x-end-user-id")';
    const named = (name: string, affinity: AffinityPolicy): Group => group(name, ["a/m"], { affinity });
    const needs = affinityNeeds(
      config([
        named("g", session),
        named("h", { by: "expression", expression: source }),
        named("i", { by: "expression", expression: "request.user.sub" }),
        named("j", { by: "expression", expression: "not one" }),
        group("k", ["a/m"]),
      ]),
    );
    expect(needs).toMatchObject({ session: true, conversation: false });
    expect([...needs.expressions]).toEqual([[source, { from: "header", name: "x-end-user-id" }]]);
  });

  it("H4, F7 decision and explanation name the kind and never the key", () => {
    const request = { facts: facts({ affinity: { session: 987_654_321 } }), key: key(["g"]) };
    const decided = decide(input(config([by(session)]), { request, explain: true }));
    expect(decided.decision).toMatchObject({ affinity: "session" });
    expect(decided.explanation?.groups[0]).toMatchObject({ affinity: "session", draw: undefined });
    expect(JSON.stringify(decided.explanation)).not.toContain("987654321");
  });

  it("S6 a placed request uses no turn", () => {
    const of = by(session, { strategy: "round_robin" });
    const request = { facts: facts({ affinity: { session: 5 } }), key: key(["g"]) };
    expect(decide(input(config([of]), { request })).effects.map(({ kind }) => kind)).toEqual(["lease"]);
  });
});

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  benchLookup,
  decide,
  type Bench,
  type DecideInput,
  type Decided,
  EMPTY_HEALTH_STATE,
  grantProbes,
  type HealthSnapshot,
  LoadLedger,
  mergeHealth,
  type Outcome,
  PROBE_LEASE_MS,
  PROBE_MAX_MS,
  probeClaims,
  type ProbeClaims,
  reduce,
  wantsProbes,
} from "../src/index.ts";
import { after, benched, brief, config, facts, group, input, key, T0 } from "./builders.ts";
import type { PolicyOverride } from "./builders.ts";

const ROUTER = "router-1";
const pool = (more: PolicyOverride = {}, ids = ["a/m", "b/m", "c/m", "d/m"]) =>
  group("g", ids, { strategy: "shuffle", ...more, bench: { probeShare: 0.05, ...more.bench } });

/** A bench on a/m that `router` may probe. */
function leased(router = ROUTER, key_ = "m:a/m", of: Partial<Bench> = {}): HealthSnapshot {
  return grantProbes(benched({ [key_]: T0 + 60_000 }, of), [router], T0);
}

/** `count` first decisions by one router over one ledger; probes end at once unless `hang`. */
function requests(
  of: ReturnType<typeof pool>,
  count: number,
  more: {
    readonly health?: HealthSnapshot;
    readonly hang?: boolean;
    readonly input?: Partial<DecideInput>;
    readonly routers?: number;
    readonly probers?: ReadonlyMap<string, number>;
  } = {},
): readonly Decided[] {
  const ledger = new LoadLedger();
  return Array.from({ length: count }, (_, index) => {
    const decisionId = `d${index}`;
    const decided = decide(
      input(config([of]), {
        health: more.health ?? leased(),
        load: ledger.snapshot(new Set(), more.routers, more.probers),
        router: ROUTER,
        seed: Math.imul(index + 1, 0x9e3779b1) >>> 0,
        decisionId,
        ...more.input,
      }),
    );
    ledger.apply(decided.effects, T0);
    if (more.hang !== true) ledger.observe([outcome(decisionId, undefined)], () => "m:a/m", T0);
    return decided;
  });
}

function outcome(decision: string, error: Outcome["error"], more: Partial<Outcome> = {}): Outcome {
  return {
    decision,
    group: "p/g",
    deployment: "a/m",
    error,
    status: undefined,
    retryAfterMs: undefined,
    decidedAt: T0,
    at: T0 + 10,
    probe: true,
    ownKey: false,
    ...more,
  };
}

const probesOf = (all: readonly Decided[]) =>
  all.filter(({ decision }) => decision.kind === "attempt" && decision.probe);

describe("probes", () => {
  it("B4 about probe_share of the traffic that would have gone there probes it, counted and not drawn", () => {
    const probes = probesOf(requests(pool(), 8_000));
    // A quarter of the traffic would have gone there, and one in twenty of it probes.
    expect(probes.length).toBeGreaterThan(90);
    expect(probes.length).toBeLessThan(110);
    expect(new Set(probes.map(brief))).toEqual(new Set(["a/m"]));
    const alone = probesOf(requests(pool({ bench: { whenAllBenched: "refuse" } }, ["a/m"]), 100));
    expect(alone.length).toBe(5);
  });

  it("B4 the router that may probe does so for the traffic of all routers", () => {
    const alone = pool({ bench: { whenAllBenched: "refuse" } }, ["a/m"]);
    expect(probesOf(requests(alone, 100, { routers: 4 }))).toHaveLength(20);
    expect(probesOf(requests(alone, 100, { routers: 400 }))).toHaveLength(100);
  });

  it("B4 routers without traffic for a bench have no part in it", () => {
    const alone = pool({ bench: { whenAllBenched: "refuse" } }, ["a/m"]);
    const probed = (probers: ReadonlyMap<string, number>) =>
      probesOf(requests(alone, 100, { routers: 4, probers })).length;
    expect(probed(new Map([["m:a/m", 1]]))).toBe(5);
    expect(
      probed(
        new Map([
          ["m:a/m", 2],
          ["d:p/g:a/m", 1],
        ]),
      ),
    ).toBe(10);
    expect(probed(new Map([["m:b/m", 1]]))).toBe(20);
  });

  it("B4 the others share what does not probe evenly", () => {
    const counts: Record<string, number> = {};
    for (const decided of requests(pool(), 8_000)) counts[brief(decided)] = (counts[brief(decided)] ?? 0) + 1;
    for (const id of ["b/m", "c/m", "d/m"]) expect(Math.abs((counts[id] ?? 0) - 2_633)).toBeLessThan(120);
  });

  it("B4 one at a time: none begins while one is under way, and its end frees the slot", () => {
    expect(probesOf(requests(pool(), 2_000, { hang: true }))).toHaveLength(1);
  });

  it.each(["server_error", "timeout", "cancelled", "invalid_request"] as const)(
    "BH-08 a probe that ends in %s frees the slot",
    (error) => {
      const ledger = new LoadLedger();
      const slot = () => ledger.snapshot(new Set()).probes?.size;
      ledger.apply([{ kind: "probe", decision: "d1", keys: ["m:a/m", "p:a"], expiresAt: T0 + 9_000 }], T0);
      expect(slot()).toBe(2);
      ledger.observe([outcome("d1", error)], () => "m:a/m", T0);
      expect(slot()).toBe(0);
    },
  );

  it("BH-08 a probe that never ends frees the slot when its time is over, at the latest after a minute", () => {
    const [first] = probesOf(requests(pool({ requestTimeoutMs: 0 }), 1_000, { hang: true }));
    const effect = first?.effects.find((one) => one.kind === "probe");
    expect(effect).toMatchObject({ keys: ["m:a/m"], expiresAt: T0 + PROBE_MAX_MS });
    const timed = probesOf(requests(pool({ attemptTimeoutMs: 2_000 }), 1_000, { hang: true }))[0];
    expect(timed?.effects.find((one) => one.kind === "probe")).toMatchObject({ expiresAt: T0 + 2_000 });
    const busy = new Map([["m:a/m", { decision: "x", until: T0 + 5_000 }]]);
    const load = { notReady: new Set<string>(), places: new Map([["probe|d:p/g:a/m", 0.99]]), probes: busy };
    const one = pool({ bench: { whenAllBenched: "refuse" } }, ["a/m"]);
    const late = input(config([one]), { health: leased(), load, router: ROUTER });
    expect(decide(late).decision.kind).toBe("refuse");
    const health = grantProbes(leased(), [ROUTER], T0 + 5_000);
    expect(decide({ ...late, now: T0 + 5_000, health }).decision).toMatchObject({ probe: true });
  });

  it("B4 only the router that health names probes, and only while it is named", () => {
    expect(probesOf(requests(pool(), 1_000, { health: leased("router-2") }))).toEqual([]);
    expect(probesOf(requests(pool(), 1_000, { health: benched({ "m:a/m": T0 + 60_000 }) }))).toEqual([]);
    const late = { now: T0 + PROBE_LEASE_MS };
    expect(probesOf(requests(pool(), 1_000, { input: late }))).toEqual([]);
  });

  it("B4 a person's bench is not probed, nor one beside it that has no lease", () => {
    const manual = grantProbes(benched({ "m:a/m": T0 + 60_000 }, { reason: "manual" }), [ROUTER], T0);
    expect(probesOf(requests(pool(), 1_000, { health: manual }))).toEqual([]);
    const both = leased();
    const more = {
      version: 1,
      benches: new Map([...both.benches, ...benched({ "p:a": T0 + 9_000 }).benches]),
    };
    expect(probesOf(requests(pool(), 1_000, { health: more }))).toEqual([]);
  });

  it("B4, E9 neither a caller's own key probes nor a request that has failed already", () => {
    const request = { facts: facts({ ownKeyProvider: "a" }), key: key(["g"]) };
    expect(probesOf(requests(pool(), 500, { input: { request } }))).toEqual([]);
    const failed = after(input(config([pool()])), decide(input(config([pool()]))), { error: "auth" });
    const again = { ...failed, router: ROUTER, health: leased(), load: due() };
    expect(decide(again).decision).toMatchObject({ probe: false });
  });

  it("B4 nothing is probed where the policy does not", () => {
    expect(probesOf(requests(pool({ bench: { probeShare: 0 } }), 1_000))).toEqual([]);
  });

  it("R8 the explanation says that it probes", () => {
    const one = pool({ bench: { whenAllBenched: "refuse" } }, ["a/m"]);
    const at = input(config([one]), { health: leased(), load: due(), router: ROUTER, explain: true });
    expect(decide(at).explanation?.groups[0]?.candidates[0]).toMatchObject({
      verdict: "chosen",
      rule: expect.stringContaining("B4 probed"),
    });
  });
});

/** A load in which the next request that would have gone to a/m probes it. */
function due() {
  return { notReady: new Set<string>(), places: new Map([["probe|d:p/g:a/m", 0.99]]) };
}

describe("leases of probes", () => {
  it("B4 where no group probes nobody need be named", () => {
    expect(wantsProbes(config([pool()]))).toBe(true);
    expect(wantsProbes(config([group("g", ["a/m"])]))).toBe(false);
  });

  const at = (snapshot: HealthSnapshot) => snapshot.benches.get("m:a/m")?.probe;

  it("B4 a router that stays keeps its lease, renewed before it runs out", () => {
    const first = leased();
    expect(at(first)).toEqual({ router: ROUTER, until: T0 + PROBE_LEASE_MS });
    expect(grantProbes(first, ["a-new-one", ROUTER], T0 + 1_000)).toBe(first);
    const renewed = grantProbes(first, ["a-new-one", ROUTER], T0 + 6_000);
    expect(at(renewed)).toEqual({ router: ROUTER, until: T0 + 6_000 + PROBE_LEASE_MS });
  });

  it("B4 when the router is gone the lease passes on once its last probe must be over", () => {
    const long = grantProbes(benched({ "m:a/m": T0 + 600_000 }), [ROUTER], T0);
    const over = T0 + PROBE_LEASE_MS + PROBE_MAX_MS;
    expect(at(grantProbes(long, ["other"], over - 1))).toEqual(at(long));
    expect(at(grantProbes(long, ["other"], over))).toMatchObject({ router: "other" });
  });

  const says = (wants: boolean, holds = false): ProbeClaims => ({
    wants: new Set(wants ? ["m:a/m"] : []),
    holds: new Set(holds ? ["m:a/m"] : []),
  });

  it("B4 of the routers that have traffic for a bench one is named, whoever else is there", () => {
    const bare = benched({ "m:a/m": T0 + 60_000 });
    for (const asking of ["r1", "r2", "r3"]) {
      const claims = new Map([[asking, says(true)]]);
      expect(at(grantProbes(bare, ["r1", "r2", "r3"], T0, claims))).toMatchObject({ router: asking });
    }
  });

  it("B4 a lease without traffic runs out while another asks, and passes on once nothing can probe by it", () => {
    const first = leased();
    const all = ["busy", ROUTER];
    const grant = (now: number, mine: ProbeClaims) =>
      at(
        grantProbes(
          first,
          all,
          now,
          new Map([
            ["busy", says(true)],
            [ROUTER, mine],
          ]),
        ),
      );
    const idle = { router: ROUTER, until: T0 + PROBE_LEASE_MS };
    expect(grant(T0 + 6_000, says(false, true))).toEqual(idle);
    expect(grant(idle.until, says(false, true))).toEqual(idle);
    expect(grant(idle.until, says(true, true))).toMatchObject({ router: ROUTER });
    expect(grant(idle.until, says(false))).toMatchObject({ router: "busy" });
    const nobody = new Map([
      ["busy", says(false)],
      [ROUTER, says(false)],
    ]);
    expect(at(grantProbes(first, all, T0 + 6_000, nobody))).toMatchObject({ router: ROUTER });
    const silent = new Map([["busy", says(true)]]);
    expect(at(grantProbes(first, all, idle.until, silent))).toEqual(idle);
  });

  it("B4 law: at most one router probes at a time, and one with traffic is named while the bench stands", () => {
    const names = ["r1", "r2", "r3"];
    const probe = fc.record({ second: fc.nat(120), of: fc.constantFrom(...names), ms: fc.nat(PROBE_MAX_MS) });
    const world = fc.record({
      busy: fc.subarray(names, { minLength: 1 }),
      probes: fc.array(probe, { maxLength: 40 }),
      delay: fc.integer({ min: 0, max: 1_500 }),
    });
    fc.assert(
      fc.property(world, ({ busy, probes, delay }) => {
        let health = benched({ "m:a/m": T0 + 600_000 });
        // As each router knows it, `delay` ms late; and what health heard of each, as late.
        const known: { readonly from: number; readonly health: HealthSnapshot }[] = [];
        const said: { readonly from: number; readonly claims: ReadonlyMap<string, ProbeClaims> }[] = [];
        const latest = <T extends { readonly from: number }>(list: readonly T[], now: number) =>
          list.findLast(({ from }) => from <= now);
        const lastUse = new Map(busy.map((name) => [name, T0]));
        let running: { readonly of: string; readonly until: number } | undefined;
        for (let second = 0; second <= 180; second += 1) {
          const now = T0 + second * 1_000;
          health = grantProbes(health, names, now, latest(said, now)?.claims);
          known.push({ from: now + delay, health });
          const theirs = latest(known, now)?.health ?? benched({});
          const mayProbe = (name: string): boolean => {
            const lease = at(theirs);
            return lease !== undefined && lease.router === name && lease.until > now;
          };
          for (const { of, ms } of probes.filter((one) => one.second === second)) {
            if (!busy.includes(of) || !mayProbe(of)) continue;
            // A router begins no second one beside its own.
            if (running !== undefined && running.until > now && running.of === of) continue;
            expect(running === undefined || running.until <= now).toBe(true);
            running = { of, until: now + ms };
          }
          for (const name of busy) if (mayProbe(name)) lastUse.set(name, now);
          const claims = new Map(
            names.map((name) => {
              const mine = running !== undefined && running.of === name && running.until > now;
              return [name, says(busy.includes(name), mine || mayProbe(name))];
            }),
          );
          said.push({ from: now + delay, claims });
        }
        const last = Math.max(...lastUse.values());
        expect(last).toBeGreaterThan(T0 + 178_000);
      }),
      { numRuns: 100 },
    );
  });

  it("B4 what a router says of probes: benches its traffic would have gone to, and what it may probe", () => {
    const of = pool();
    const all = config([of, group("off", ["a/m"])]);
    const health = leased();
    const claims = (groups: readonly string[], router = ROUTER, inFlight: readonly string[] = []) =>
      probeClaims(health, all, groups, inFlight, router, T0);
    expect(claims(["p/g"])).toEqual(says(true, true));
    expect(claims(["p/off", "p/gone"], "other")).toEqual(says(false));
    expect(claims([], "other", ["m:a/m"])).toEqual(says(false, true));
    expect(probeClaims(health, all, ["p/g"], [], ROUTER, T0 + 60_000)).toEqual(says(false));
  });

  it("B4, B6 replicas of health that know the same routers name the same one, and join to one", () => {
    const bare = benched({ "m:a/m": T0 + 60_000 });
    const routers = ["r1", "r2", "r3", "r4"];
    const left = grantProbes(bare, routers, T0);
    const right = grantProbes(bare, routers.toReversed(), T0);
    expect(at(left)).toEqual(at(right));
    const apart = grantProbes(bare, ["r9"], T0 + 3);
    expect(at(mergeHealth(left, apart))).toEqual(at(mergeHealth(apart, left)));
    expect(mergeHealth(left, right)).toBe(left);
  });

  it("B4 a probe's success ends the bench and its lease; a late success of an older request does not", () => {
    const of = pool({ bench: { scope: "model" } });
    const state = { ...EMPTY_HEALTH_STATE, snapshot: leased(ROUTER, "m:a/m", { scope: "model" }) };
    const lookup = benchLookup(config([of]));
    const old = reduce(state, outcome("d1", undefined, { decidedAt: T0 - 5_000 }), lookup, T0 + 20);
    expect(old.state).toBe(state);
    const ended = reduce(state, outcome("d2", undefined), lookup, T0 + 20);
    expect(ended.transitions).toMatchObject([{ kind: "ended", by: "probe" }]);
    expect(ended.state.snapshot.benches.get("m:a/m")).toEqual({
      policy: undefined,
      manual: undefined,
      policyClearedAt: T0 + 10,
      manualClearedAt: 0,
    });
  });
});

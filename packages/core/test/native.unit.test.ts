import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide, type DecideInput, EMPTY_LOAD, type Group, type RequestFacts } from "../src/index.ts";
import { after, benched, brief, config, deployment, facts, group, input, key, run, T0 } from "./builders.ts";
import type { Failure } from "./builders.ts";
import { failure, world } from "./worlds.ts";

const PATH = "/v1/systemone";
const ASKED = { endpoint: "native", path: PATH } as const;
const SERVED = new Map([
  [PATH, new Set(["openai_compatible", "openai"])],
  ["/v1/other", new Set(["gemini"])],
]);

function first(
  groups: readonly Group[],
  request: Partial<RequestFacts> = {},
  more: Partial<DecideInput> = {},
): DecideInput {
  const names = groups.map(({ name }) => name);
  return input(
    { ...config(groups), nativeEndpoints: SERVED },
    { request: { facts: facts({ ...ASKED, ...request }), key: key(names.slice(0, 1)) }, ...more },
  );
}

describe("native endpoints", () => {
  it("R5 serve by their families alone, whatever an account lists", () => {
    const none = new Set<never>();
    const mixed = group("g", [
      deployment("a/m", { family: "anthropic", weight: 9 }),
      deployment("b/m", { family: "openai_compatible", native: none }),
    ]);
    expect(brief(decide(first([mixed])))).toBe("b/m");
    const refused = decide(first([mixed], { path: "/v1/other" })).decision;
    expect(refused).toMatchObject({ status: 400, code: "endpoint_not_supported" });
    expect(refused).toHaveProperty(
      "message",
      expect.stringMatching(/serves \/v1\/other.* of family gemini\./u),
    );
  });

  it("R5 a refusal names every family that would do", () => {
    const refused = decide(first([group("g", [deployment("a/m", { family: "vertex" })])])).decision;
    expect(refused).toHaveProperty(
      "message",
      `No deployment of \`g\` serves ${PATH}, which needs a provider of family openai_compatible or openai.`,
    );
  });

  it("R4 one bound to embeddings serves none", () => {
    const embeds = group("g", [deployment("a/m", { type: "embedding" })]);
    expect(brief(decide(first([embeds])))).toBe("400 endpoint_not_supported");
  });

  it("R1 the key comes first, then the path, then the model", () => {
    const g = [group("g", ["a/m"])];
    const unknown = { ...ASKED, path: "/v1/nothing", model: "x" };
    const asked = (caller: ReturnType<typeof key> | undefined): string =>
      brief(decide(first(g, {}, { request: { facts: facts(unknown), key: caller } })));
    expect(asked(undefined)).toBe("401 invalid_api_key");
    expect(asked(key(["g"]))).toBe("404 not_found");
    expect(brief(decide(first(g, { model: "x" })))).toBe("403 model_not_allowed");
  });

  it("R2, R3 a body without a model goes to the only group", () => {
    expect(brief(decide(first([group("g", ["a/m"])], { model: undefined })))).toBe("a/m");
  });

  it("contracts 2 one attempt: no retry, no failover and no fallback group", () => {
    const g = group("g", ["a/m", "b/m"], { fallback: { general: "h", context: "h", content: "h" } });
    const groups = [g, group("h", ["c/m"])];
    for (const error of ["rate_limited", "overloaded", "timeout", "auth", "context_length"] as const) {
      const all = run(first(groups), [{ error }]);
      expect(all[0]?.decision).toMatchObject({ kind: "attempt", next: undefined });
      expect(all[1]?.decision).toMatchObject({ kind: "refuse", exhausted: true });
    }
  });

  it("contracts 2 stays in the group asked for, also where it can't call anyone there", () => {
    const g = group("g", ["a/m"], { bench: { whenAllBenched: "refuse" }, fallback: { general: "h" } });
    const groups = [g, group("h", ["c/m"])];
    const health = benched({ "m:a/m": T0 + 5_000 });
    expect(brief(decide(first(groups, {}, { health })))).toBe("503 upstream_unavailable");
    const load = { ...EMPTY_LOAD, notReady: new Set(["a"]) };
    expect(brief(decide(first(groups, {}, { load })))).toBe("503 provider_not_ready");
  });

  it("R10 a credential that turns out to be missing uses no attempt", () => {
    const g = group("g", [deployment("a/m", { weight: 1_000_000 }), deployment("b/m")]);
    const all = run(first([g]), [{ error: "not_ready" }, { error: "server_error" }]).map(brief);
    expect(all).toEqual(["a/m", "b/m", "502 upstream_unreachable"]);
  });

  it("a failure that may be over is not told as the last word, one that stays is", () => {
    const g = [group("g", ["a/m", "b/m"])];
    expect(run(first(g), [{ error: "overloaded" }])[1]?.decision).toMatchObject({ final: false });
    expect(run(first(g), [{ error: "auth" }])[1]?.decision).toMatchObject({ final: true });
  });

  it("contracts 2 law: a native request calls one provider at most, in its own group, and nothing beside it", () => {
    const failures = fc.array(failure, { minLength: 1, maxLength: 8 });
    let attempts = 0;
    const check = (made: DecideInput, list: readonly Failure[]): void => {
      const served: DecideInput = {
        ...made,
        config: { ...made.config, nativeEndpoints: SERVED },
        request: { ...made.request, facts: { ...made.request.facts, ...ASKED } },
      };
      let at = served;
      let calls = 0;
      for (let step = 0; ; step += 1) {
        const decided = decide(at);
        const { decision, history } = decided;
        expect(history.hops).toEqual([]);
        if (decision.kind === "refuse") break;
        expect(decision.group.key).toBe("p/g");
        expect(decision.step).not.toBe("retry");
        expect(decision.hedgeAfterMs).toBeUndefined();
        expect(calls).toBe(0);
        const ended = list[step % list.length] as Failure;
        if (ended.error !== "not_ready") calls += 1;
        attempts += 1;
        const { group: of, deployment: chosen } = decision;
        const running = { decision: "d", group: of.key, deployment: chosen.id, startedAt: at.now };
        expect(brief(decide({ ...at, running }))).toBe("409 not_hedged");
        at = after(at, decided, ended);
      }
    };
    fc.assert(fc.property(world, failures, check), { numRuns: 400 });
    expect(attempts).toBeGreaterThan(100);
  });
});

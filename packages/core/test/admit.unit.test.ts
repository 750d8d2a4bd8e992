import { describe, expect, it } from "vitest";
import { decide, type CallerKey, type RequestFacts } from "../src/index.ts";
import { brief, config, facts, group, input, key } from "./builders.ts";

const snapshot = config([group("g", ["a/m"]), group("h", ["b/m"])]);

function ask(request: Partial<RequestFacts>, caller: CallerKey | undefined) {
  return decide(input(snapshot, { request: { facts: facts(request), key: caller } }));
}

describe("admission", () => {
  it("R1 refuses a request without a known key first of all", () => {
    expect(brief(ask({ model: "nothing" }, undefined))).toBe("401 invalid_api_key");
  });

  it.each([undefined, ""])("R2 sends a request with model %j to the only granted group", (model) => {
    expect(brief(ask({ model }, key(["h"])))).toBe("b/m");
  });

  it("R2 refuses a request without a model when there are two groups, and lists them", () => {
    const { decision } = ask({ model: undefined }, key(["g", "h"]));
    expect(decision).toMatchObject({ status: 403, code: "model_not_allowed", exhausted: false });
    expect(decision).toHaveProperty("message", expect.stringContaining("g, h"));
  });

  it("R2 refuses a name that is not granted alike, whether or not it exists", () => {
    const there = ask({ model: "h" }, key(["g"])).decision;
    const nowhere = ask({ model: "x" }, key(["g"])).decision;
    expect(brief(ask({ model: "h" }, key(["g"])))).toBe("403 model_not_allowed");
    expect({ ...there, message: "" }).toEqual({ ...nowhere, message: "" });
  });

  it("R3 sends every request of a pinned key to its only group", () => {
    expect(brief(ask({ model: "gpt-x" }, key(["h"], { ignoreModel: true })))).toBe("b/m");
  });

  it("R9 gives a provider's model to a key that may name it, in any case of the provider", () => {
    const caller = key(["g"], { allowDirect: true });
    expect(brief(ask({ model: "B/m" }, caller))).toBe("b/m");
    expect(brief(ask({ model: "b/M" }, caller))).toBe("403 model_not_allowed");
    expect(brief(ask({ model: "b/m" }, key(["g"])))).toBe("403 model_not_allowed");
  });

  it("R9 leaves a direct request its one candidate, also where the project has default fallbacks", () => {
    const fallbacks = config([group("g", ["a/m"]), group("h", ["b/m"])], ["h"]);
    const first = input(fallbacks, {
      request: { facts: facts({ model: "a/m" }), key: key(["g"], { allowDirect: true }) },
      load: { notReady: new Set(["a"]), places: new Map() },
    });
    expect(brief(decide(first))).toBe("503 provider_not_ready");
  });
});

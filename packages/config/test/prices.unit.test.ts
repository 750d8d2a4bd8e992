import { expect, test } from "vitest";
import { compileSnapshot, validateConfig } from "../src/index.ts";
import { withText } from "./support/base.ts";
import { deployments } from "./support/parts.ts";

const KINDS = ["input", "output", "cached_input", "cache_write", "audio_input", "audio_output"] as const;
const AT = "groups[0].deployments[0].price";

const priced = (price: object) => withText(deployments({ provider: "openai", model: "gpt-5", price }));

function compiled(price: object) {
  const { config, faults } = validateConfig(priced(price));
  if (config === undefined) throw new Error(JSON.stringify(faults));
  const snapshot = compileSnapshot(config, {
    revision: 1,
    secrets: { env: () => undefined, file: () => undefined },
    onWarning: () => {},
  });
  return snapshot.groups.get("default/chat")?.deployments[0]?.price;
}

test("prices of single kinds are kept, those that are left out stay out", () => {
  const all = { cached_input: 0.3, cache_write: 3.75, audio_input: 40, audio_output: 0 };
  expect(compiled({ input: 3, output: 15, ...all })).toStrictEqual({
    input: 3,
    output: 15,
    cachedInput: 0.3,
    cacheWrite: 3.75,
    audioInput: 40,
    audioOutput: 0,
  });
  expect(compiled({ input: 1, cached_input: 0 })).toStrictEqual({ input: 1, output: 0, cachedInput: 0 });
});

test.each(KINDS)("a price of %s is a number from 0 to 1,000,000", (kind) => {
  for (const [value, words] of [
    [-0.5, "at least 0"],
    [1_000_001, "at most 1000000"],
    ["Infinity", ""],
    ["NaN", ""],
    ["much", ""],
  ] as const) {
    const { faults, config } = validateConfig(priced({ [kind]: value }));
    expect(faults.map(({ path }) => path)).toEqual([`${AT}.${kind}`]);
    expect(faults[0]?.message).toContain(words);
    expect(config).toBeUndefined();
  }
});

test("a kind that there is not is told, with the nearest one", () => {
  const { faults } = validateConfig(priced({ cached_inputs: 1 }));
  expect(faults.map(({ path }) => path)).toEqual([`${AT}.cached_inputs`]);
  expect(faults[0]?.message).toContain("cached_input");
});

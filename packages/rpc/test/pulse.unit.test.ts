import { expect, test } from "vitest";
import { type Finding, Pulse } from "../src/client/pulse.ts";

function beats(pulse: Pulse, count: number): (Finding | undefined)[] {
  return Array.from({ length: count }, () => pulse.beat(false, true));
}

test("a server that is asked and says nothing is frozen, asked again, and at last gone", () => {
  const found = beats(new Pulse(), 44);
  const at = (finding: Finding): number[] =>
    found.flatMap((one, index) => (one === finding ? [index + 1] : []));
  expect([at("frozen"), at("gone")]).toEqual([[4], [40]]);
  expect(at("ask")).toEqual([2, 6, 10, 14, 18, 22, 26, 30, 34, 38, 42]);
});

test("one that speaks, and one of whom nothing is asked, are never frozen", () => {
  const pulse = new Pulse();
  for (let round = 0; round < 20; round += 1) {
    expect(beats(pulse, 3)).toEqual([undefined, "ask", undefined]);
    expect(pulse.beat(round % 2 === 0, round % 2 !== 0)).toBe(round % 2 === 0 ? undefined : "frozen");
    expect(pulse.beat(false, false)).toBe(round % 2 === 0 ? undefined : "lost");
  }
});

test("what was frozen is told once when it speaks", () => {
  const pulse = new Pulse();
  beats(pulse, 12);
  expect(pulse.frozen).toBe(true);
  expect([pulse.beat(true, true), pulse.beat(true, true)]).toEqual(["heard", undefined]);
  expect(pulse.frozen).toBe(false);
});

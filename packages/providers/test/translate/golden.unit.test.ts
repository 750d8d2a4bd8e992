import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { GOLDEN, goldenCases } from "../support/golden.ts";

const CASES = goldenCases();

describe("recorded traffic in the other dialect", () => {
  it.each(CASES)("P2, P4, P5: $file is as reviewed", ({ file, text }) => {
    expect(text).toBe(readFileSync(GOLDEN + file, "utf8"));
  });

  it("no file is left over", () => {
    const files = readdirSync(GOLDEN, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    expect(files).toHaveLength(CASES.length);
  });
});

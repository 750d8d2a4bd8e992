import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { configReference } from "../../scripts/config-reference/reference.ts";

const ROOT = join(import.meta.dirname, "../..");

it("docs/config.md is what the protos and the presets say; pnpm gen:docs writes it", () => {
  expect(readFileSync(join(ROOT, "docs/config.md"), "utf8")).toBe(configReference(ROOT));
});

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { GOLDEN, goldenCases } from "./golden.ts";

// Run by hand: `node packages/providers/test/support/write-golden.ts [family …]`. Read what changed before committing it.
const families = process.argv.slice(2);
const cases = goldenCases().filter(({ file }) => families.length === 0 || families.includes(dirname(file)));
for (const family of new Set(cases.map(({ file }) => dirname(file)))) {
  rmSync(GOLDEN + family, { recursive: true, force: true });
}
for (const { file, text } of cases) {
  mkdirSync(dirname(GOLDEN + file), { recursive: true });
  writeFileSync(GOLDEN + file, text);
}

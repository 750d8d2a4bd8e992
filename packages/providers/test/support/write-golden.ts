import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { GOLDEN, goldenCases } from "./golden.ts";

// Run by hand: `node packages/providers/test/support/write-golden.ts`. Read what changed before committing it.
rmSync(GOLDEN, { recursive: true, force: true });
for (const { file, text } of goldenCases()) {
  mkdirSync(dirname(GOLDEN + file), { recursive: true });
  writeFileSync(GOLDEN + file, text);
}

// Writes docs/config.md; `test/docs/config-reference.unit.test.ts` compares.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { configReference } from "./config-reference/reference.ts";

const root = join(import.meta.dirname, "..");
writeFileSync(join(root, "docs/config.md"), configReference(root));

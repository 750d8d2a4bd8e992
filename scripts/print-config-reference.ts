// Writes docs/config.md and docs/config.schema.json; `test/docs/config-reference.unit.test.ts` compares.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { configReference } from "./config-reference/reference.ts";
import { configJsonSchema } from "./config-reference/schema.ts";

const root = join(import.meta.dirname, "..");
writeFileSync(join(root, "docs/config.md"), configReference(root));
writeFileSync(join(root, "docs/config.schema.json"), configJsonSchema(root));

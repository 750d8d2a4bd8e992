import module from "node:module";
import { fileURLToPath } from "node:url";

const major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
  console.error(
    `Node ${process.versions.node} runs this, but 24 or later is needed. pnpm brings its own:\n\n  npx -y pnpm@12 start\n`,
  );
  process.exit(1);
}

// From the second start on sources need neither be stripped of their types nor compiled: half the time, less memory.
module.enableCompileCache?.(fileURLToPath(new URL("../.cache/compile", import.meta.url)));

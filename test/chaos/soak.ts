import { spawn } from "node:child_process";
import { join } from "node:path";

/**
 * Runs the slow cases at the length and size that they were reported with: NATS away for two minutes and wrong
 * credentials for ten seconds (BH-45), twenty streams of 200 MiB that nobody reads for 20 s (BH-42). Some minutes.
 */
const FULL = {
  CHAOS_NATS_OUTAGE_MS: "120000",
  CHAOS_WRONG_CREDENTIALS_MS: "10000",
  CHAOS_FLOOD_MIB: "200",
  CHAOS_STALLED_MS: "20000",
  CHAOS_READ_ON: "19",
};
const TEST_TIMEOUT_MS = 600_000;

if (process.argv.length > 2) {
  console.log("pnpm soak: takes no arguments and some minutes; see test/chaos/README.md");
  process.exit();
}
const root = join(import.meta.dirname, "../..");
const vitest = spawn(
  process.execPath,
  [
    join(root, "node_modules/vitest/vitest.mjs"),
    "run",
    "--project=e2e",
    "--project=alone",
    `--testTimeout=${TEST_TIMEOUT_MS}`,
    "test/chaos/nats-outage",
    "test/chaos/slow-readers",
  ],
  { cwd: root, env: { ...process.env, ...FULL }, stdio: "inherit" },
);
vitest.on("exit", (code) => process.exit(code ?? 1));

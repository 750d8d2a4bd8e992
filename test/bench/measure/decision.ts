import { existsSync } from "node:fs";
import { join } from "node:path";
import { startNode } from "./children.ts";
import type { Cores } from "./cores.ts";

const program = join(import.meta.dirname, "../../../packages/core/test/bench/decide.ts");
const TIMEOUT_MS = 60_000;

/** µs of one first decision over 32 candidates, as core's own benchmark prints it; undefined without that. */
export async function measureDecision(cores: Cores): Promise<number | undefined> {
  if (!existsSync(program)) return undefined;
  const child = startNode([program], { core: cores.variant });
  try {
    const line = /^ *1 groups +32 candidates +first pick +([\d.]+) µs/m;
    return Number((await child.waitForOutput(line, TIMEOUT_MS))[1]);
  } finally {
    await child.stop();
  }
}

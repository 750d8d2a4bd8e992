import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "@switchyard/testkit";
import { startNode } from "../measure/children.ts";
import { findProgram } from "../measure/find-program.ts";
import { Skipped, type StartVariant } from "./variant.ts";
import { waitForPort } from "./wait-for-port.ts";

const folder = join(import.meta.dirname, "../../../.cache/bench/portkey");
const program = join(folder, "node_modules/@portkey-ai/gateway/build/start-server.js");
const installTimeoutMs = 180_000;

// With the 1.19 that it would get today the gateway answers 500 to every stream.
const manifest = {
  private: true,
  dependencies: { "@portkey-ai/gateway": "1.15.2" },
  overrides: { "@hono/node-server": "1.13.8" },
};

function install(): void {
  if (existsSync(program)) return;
  const npm = findProgram("npm");
  if (npm === undefined) throw new Skipped("there is no npm to fetch @portkey-ai/gateway with");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  console.log("fetching @portkey-ai/gateway 1.15.2 into .cache/bench/portkey");
  try {
    const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev"];
    execFileSync(npm, args, { cwd: folder, stdio: ["ignore", "ignore", "pipe"], timeout: installTimeoutMs });
  } catch (error) {
    const words = error instanceof Error ? error.message.split("\n").slice(0, 3).join(" ") : String(error);
    throw new Skipped(`@portkey-ai/gateway could not be fetched: ${words}`);
  }
}

/** The peer in the same language, as its own start script runs it. */
export const startPortkey: StartVariant = async (around) => {
  install();
  const port = await freePort();
  const child = startNode([program, `--port=${port}`, "--headless"], {
    core: around.cores.variant,
    env: { NODE_ENV: "production" },
    cwd: folder,
  });
  await waitForPort(port, child);
  return {
    port,
    headers: [
      "x-portkey-provider: openai",
      `x-portkey-custom-host: http://127.0.0.1:${around.upstreamPort}/v1`,
    ],
    pids: [child.pid],
    stop: () => child.stop(),
  };
};

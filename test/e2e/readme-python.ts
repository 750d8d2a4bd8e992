import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "./readme-blocks.ts";

const execute = promisify(execFile);
const CACHED = join(ROOT, ".cache/readme-venv");
const INSTALL_WITHIN_MS = 120_000;

/** A Python that has `openai`, from an environment that is made once; undefined where none can be made. */
export async function pythonWithOpenai(): Promise<string | undefined> {
  const python = join(CACHED, "bin/python");
  if (existsSync(python)) return python;
  mkdirSync(join(ROOT, ".cache"), { recursive: true });
  const work = `${CACHED}-${process.pid}`;
  try {
    const options = { timeout: INSTALL_WITHIN_MS };
    await execute("python3", ["-m", "venv", work], options);
    const pip = ["-m", "pip", "--retries", "1", "install", "-q", "openai"];
    await execute(join(work, "bin/python"), pip, options);
    // One whose Python is gone would be in the way. Two runs may install at once: a rename makes either result whole.
    if (!existsSync(python)) rmSync(CACHED, { recursive: true, force: true });
    renameSync(work, CACHED);
    return python;
  } catch {
    return existsSync(python) ? python : undefined;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

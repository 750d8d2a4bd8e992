import { formatFault, validateConfig } from "@switchyard/config";
import type { Config } from "@switchyard/proto/config/v1/config";
import { parse, stringify } from "yaml";
import { ADMIN } from "./gateway-admin.ts";

/** The whole config as YAML text: the given one with `runtime` and the admin key as the harness needs them. */
export function withRuntime(config: string | object, runtime: object): string {
  const parsed = (typeof config === "string" ? parse(config, { version: "1.2" }) : config) as {
    keys?: object[];
  };
  return stringify({ ...parsed, keys: [...(parsed.keys ?? []), ADMIN], runtime }, { version: "1.2" });
}

/** A valid config, or an error with all its faults. */
export function readConfig(text: string): Config {
  const { config, faults } = validateConfig(text);
  if (config === undefined)
    throw new Error(`the test's config is not valid:\n${faults.map(formatFault).join("\n")}`);
  return config;
}

const APPLIED_WITHIN_MS = 10_000;

/** Waits until each ops port tells of this revision or a later one. */
export async function waitForRevision(ops: readonly string[], revision: number): Promise<void> {
  const deadline = performance.now() + APPLIED_WITHIN_MS;
  for (const url of ops) {
    for (;;) {
      const seen = await readyRevision(url);
      if (seen >= revision) break;
      if (performance.now() > deadline)
        throw new Error(`${url} is at config revision ${seen}, not ${revision}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

/** The config revision that a process works by; 0 while it has none. */
export async function readyRevision(ops: string): Promise<number> {
  const response = await fetch(`${ops}/readyz`);
  const body = (await response.json()) as { revision?: number };
  return body.revision ?? 0;
}

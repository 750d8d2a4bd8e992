import { setTimeout as sleep } from "node:timers/promises";

/** Calls `check` until it passes and returns its value; after `within` ms throws its last error. */
export async function eventually<T>(
  check: () => T | Promise<T>,
  options: { readonly within?: number; readonly every?: number } = {},
): Promise<T> {
  const deadline = performance.now() + (options.within ?? 5000);
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() >= deadline) throw error;
    }
    await sleep(options.every ?? 20);
  }
}

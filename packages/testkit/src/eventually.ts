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

/** {@link eventually} of a condition that has no words of its own, looked at closely. Returns how long it took, ms. */
export async function comesTrue(
  condition: () => boolean | Promise<boolean>,
  within = 10_000,
): Promise<number> {
  const start = performance.now();
  const holds = async (): Promise<void> => {
    if (!(await condition())) throw new Error(`not within ${within} ms: ${condition.toString()}`);
  };
  await eventually(holds, { within, every: 2 });
  return performance.now() - start;
}

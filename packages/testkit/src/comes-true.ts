import { setTimeout as delay } from "node:timers/promises";

/** Polls until `condition` holds; throws an error that quotes it after `ms`. Returns the milliseconds that it took. */
export async function comesTrue(condition: () => boolean | Promise<boolean>, ms = 10_000): Promise<number> {
  const start = performance.now();
  while (!(await condition())) {
    if (performance.now() - start > ms) throw new Error(`not within ${ms} ms: ${condition.toString()}`);
    await delay(2);
  }
  return performance.now() - start;
}

import { setTimeout as delay } from "node:timers/promises";

/** Polls until `condition` holds; fails naming `what` after `ms`. Returns the milliseconds it took. */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  ms = 10_000,
): Promise<number> {
  const start = performance.now();
  while (!(await condition())) {
    if (performance.now() - start > ms) throw new Error(`not within ${ms} ms: ${what}`);
    await delay(10);
  }
  return performance.now() - start;
}

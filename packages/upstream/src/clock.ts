import type { UpstreamClock, UpstreamTimer } from "./types.ts";

/** The process's own clock. */
export const systemClock: UpstreamClock = {
  now: () => performance.now(),
  setTimeout: <T>(fire: (argument: T) => void, ms: number, argument: T): UpstreamTimer =>
    setTimeout(fire, ms, argument),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

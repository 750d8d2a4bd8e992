import { expectedFirstTokenMs } from "../domain/load-readings.ts";
import { measured } from "./measured.ts";

/**
 * S3: lowest time to response headers or first token. Within a tenth of the fastest all are as fast, and the one with
 * fewer calls in flight is chosen: otherwise every request would run after the last millisecond (S7).
 */
export const lowestLatency = measured({
  cost: (choice, _deployment, load) => expectedFirstTokenMs(load, choice.now),
  band: 0.1,
  explores: true,
  spreadsByLoad: true,
});

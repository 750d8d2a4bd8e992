import { measured } from "./measured.ts";

/** S3: fewest requests in flight. */
export const leastBusy = measured({
  cost: (_choice, _deployment, load) => load?.inFlight ?? 0,
  band: 0,
  explores: true,
  spreadsByLoad: false,
});

import { tokensThisMinute } from "../domain/load-readings.ts";
import { measured } from "./measured.ts";
import { isEligible, type Choice } from "./strategy.ts";

/**
 * S5: lowest tokens in the current minute relative to the deployment's own limit on them. One without a limit counts
 * as one with the highest limit among those it is compared with; where none has one, the tokens decide.
 */
export const lowestUsage = measured({
  cost(choice, deployment, load) {
    const tokens = tokensThisMinute(load, choice.now);
    return tokens === 0 ? 0 : tokens / (deployment.limits?.tpm ?? highestLimit(choice));
  },
  band: 0,
  explores: false,
  spreadsByLoad: true,
});

function highestLimit({ deployments, eligible }: Choice): number {
  let highest = 0;
  for (let index = 0; index < deployments.length; index += 1) {
    if (isEligible(eligible, index)) highest = Math.max(highest, deployments[index]?.limits?.tpm ?? 0);
  }
  return highest === 0 ? 1 : highest;
}

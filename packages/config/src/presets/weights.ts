import type { Group } from "@switchyard/proto/config/v1/config";
import { Weights } from "@switchyard/proto/config/v1/policy";
import { mergePolicy } from "./merge-policy.ts";

/** Whether a group keeps its weights at a total of 100 (K6). */
export function keepsPercent(group: Group): boolean {
  return mergePolicy(group.policy).weights === Weights.PERCENT;
}

/** The weight of each deployment. One left out is 1, under percent 100 in the first place and 0 after it (K6). */
export function groupWeights(group: Group): number[] {
  const percent = keepsPercent(group);
  return group.deployments.map(({ weight }, index) => weight ?? defaultWeight(percent, index));
}

function defaultWeight(percent: boolean, index: number): number {
  if (!percent) return 1;
  return index === 0 ? 100 : 0;
}

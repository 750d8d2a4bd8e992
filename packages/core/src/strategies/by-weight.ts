import type { Deployment } from "../domain/deployment.ts";
import { countEligible, isEligible, nthEligible } from "./strategy.ts";

/** Sum of the weights in the mask. */
export function totalWeight(deployments: readonly Deployment[], mask: number): number {
  let total = 0;
  for (let index = 0; index < deployments.length; index += 1) {
    if (isEligible(mask, index)) total += deployments[index]?.weight ?? 0;
  }
  return total;
}

/** Draws in proportion to weight; uniformly where all weigh 0. */
export function drawByWeight(deployments: readonly Deployment[], mask: number, draw: number): number {
  const total = totalWeight(deployments, mask);
  if (total === 0) return nthEligible(mask, Math.floor(draw * countEligible(mask)));
  let mark = draw * total;
  let chosen = -1;
  for (let index = 0; index < deployments.length; index += 1) {
    const weight = isEligible(mask, index) ? (deployments[index]?.weight ?? 0) : 0;
    if (weight === 0) continue;
    chosen = index;
    mark -= weight;
    if (mark < 0) return index;
  }
  return chosen;
}

/** The highest weight, ties by position: the order after the first pick under `failover.order: weight` (S2). */
export function heaviest(deployments: readonly Deployment[], mask: number): number {
  let chosen = -1;
  let most = -1;
  for (let index = 0; index < deployments.length; index += 1) {
    const weight = isEligible(mask, index) ? (deployments[index]?.weight ?? 0) : -1;
    if (weight > most) {
      most = weight;
      chosen = index;
    }
  }
  return chosen;
}

/** Share of a deployment when drawn by weight. */
export function shareByWeight(deployments: readonly Deployment[], mask: number, index: number): number {
  const total = totalWeight(deployments, mask);
  return total === 0 ? 1 / countEligible(mask) : (deployments[index]?.weight ?? 0) / total;
}

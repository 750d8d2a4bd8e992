/**
 * Weighted rendezvous hashing (F1, F2): every deployment has a score for a key, and the highest one takes it. No
 * mapping is stored; a deployment that comes or goes moves only the keys that it wins or had won.
 */
import type { Deployment } from "../domain/deployment.ts";
import { hashKey, mixHashes } from "../domain/hash-key.ts";

/** What a list of deployments keeps for scoring; made once for each list. */
interface Table {
  readonly seeds: Uint32Array;
  /** All weights above 0 are the same: then the hashes alone give the order, and no logarithm is needed. */
  readonly even: boolean;
}

// A list never changes (invariant 8), so its table may be remembered beside it.
const tables = new WeakMap<readonly Deployment[], Table>();

/**
 * Index of the deployment with the highest score in the mask. Weight 0 takes a key only when nothing of any weight
 * is left.
 *
 * @param eligible bit mask, never 0
 * @param hash of the affinity key
 */
export function highestScore(deployments: readonly Deployment[], eligible: number, hash: number): number {
  const { seeds, even } = tableOf(deployments);
  let chosen = -1;
  let most = -1;
  let standby = -1;
  let mostStandby = -1;
  for (let index = 0; index < seeds.length; index += 1) {
    if ((eligible & (1 << index)) === 0) continue;
    const mixed = mixHashes(hash, seeds[index] as number);
    const weight = deployments[index]?.weight ?? 0;
    if (weight === 0) {
      if (mixed > mostStandby) {
        mostStandby = mixed;
        standby = index;
      }
      continue;
    }
    const score = even ? mixed : weighted(mixed, weight);
    if (score > most) {
      most = score;
      chosen = index;
    }
  }
  return chosen < 0 ? standby : chosen;
}

/** The score of one deployment for a key, for the explanation; weight 0 scores below 1. */
export function rendezvousScore(deployments: readonly Deployment[], index: number, hash: number): number {
  const mixed = mixHashes(hash, tableOf(deployments).seeds[index] ?? 0);
  const weight = deployments[index]?.weight ?? 0;
  return weight === 0 ? mixed / 0x1_0000_0000 : 1 + weighted(mixed, weight);
}

/** With this score a deployment's chance to win is its share of the weights. */
function weighted(mixed: number, weight: number): number {
  return -weight / Math.log((mixed + 0.5) / 0x1_0000_0000);
}

function tableOf(deployments: readonly Deployment[]): Table {
  const known = tables.get(deployments);
  if (known !== undefined) return known;
  const weights = new Set(deployments.map(({ weight }) => weight).filter((weight) => weight > 0));
  const made = { seeds: Uint32Array.from(deployments, ({ id }) => hashKey(id)), even: weights.size <= 1 };
  tables.set(deployments, made);
  return made;
}

/** Why a decision came out as it did (R8), as data: nothing here is a secret, a prompt or an affinity key. */
export interface Explanation {
  readonly decision: string;
  readonly configRevision: number;
  readonly healthVersion: number;
  readonly seed: number;
  /** Groups in the order in which they were considered. */
  readonly groups: readonly GroupExplanation[];
  /** One line per step, in order: what escalation did and the rule that says so. */
  readonly steps: readonly { readonly rule: string; readonly text: string }[];
}

/** What happened in one group, in the order in which groups were looked through (R8). */
export interface GroupExplanation {
  readonly group: string;
  readonly strategy: string;
  /** What the key was made of that placed the request (section 4); never the key. */
  readonly affinity?: string | undefined;
  /** The draw in [0, 1) that chose among the eligible, where one was used. */
  readonly draw: number | undefined;
  readonly candidates: readonly CandidateExplanation[];
}

/** What happened to one deployment: the rule that filtered it, or its score. */
export interface CandidateExplanation {
  readonly deployment: string;
  readonly verdict: "chosen" | "eligible" | "filtered";
  /** The rule that filtered it, e.g. `R6 paused`, `R7 benched until …`, or that chose it against its score (S4). */
  readonly rule: string | undefined;
  /**
   * Where it was eligible: its expected share under `weighted`, `round_robin` and `shuffle`, what the strategy holds
   * against it under the measured ones (lower is better), the score of its hash under affinity (higher is better).
   */
  readonly score: number | undefined;
}

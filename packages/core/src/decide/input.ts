import type { History, RunningAttempt } from "../domain/attempt.ts";
import type { HealthSnapshot } from "../domain/bench.ts";
import type { ConfigSnapshot } from "../domain/config-snapshot.ts";
import type { LoadSnapshot } from "../domain/load.ts";
import type { EpochMs } from "../domain/ports.ts";
import type { AuthenticatedRequest } from "../domain/request-facts.ts";

/** Everything that a decision depends on: recorded, it replays bit for bit (invariant 1). */
export interface DecideInput {
  readonly config: ConfigSnapshot;
  readonly health: HealthSnapshot;
  readonly load: LoadSnapshot;
  readonly request: AuthenticatedRequest;
  /** {@link EMPTY_HISTORY} on the first decision; later `Decided.history` with the failed attempt appended. */
  readonly history: History;
  /**
   * Hedging: the attempt that runs, which the history does not hold yet. The question is then whether another is made
   * beside it, and the refusal `not_hedged` changes nothing for it.
   */
  readonly running?: RunningAttempt | undefined;
  readonly now: EpochMs;
  /** Unsigned 32-bit integer; every draw comes from it. The same one for all decisions of a request is fine. */
  readonly seed: number;
  /** Quoted by effects and outcomes. */
  readonly decisionId: string;
  /** Name of the router that decides, as health names it in a probe's lease (B4); without one nothing is probed. */
  readonly router?: string | undefined;
  /** Whether to build the explanation (R8). */
  readonly explain: boolean;
}

import type { ExchangePlan } from "@switchyard/providers";
import type { AwsSigning, ExchangeRequest } from "@switchyard/upstream";

/** What one attempt is to do. Times in ms, 0 = off. */
export interface AttemptPlan {
  readonly exchange: ExchangeRequest;
  /** Where the provider wants requests signed: with what. */
  readonly signing: AwsSigning | undefined;
  readonly family: string;
  /** How the provider's answer becomes the caller's. */
  readonly answer: Pick<ExchangePlan, "translated" | "streamType" | "openStream" | "readAnswer">;
  readonly streams: boolean;
  readonly firstTokenTimeoutMs: number;
  /** Runs to the end of a response that does not stream (E5). */
  readonly wholeTimeoutMs: number;
}

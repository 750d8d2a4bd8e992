import type { ExchangePlan, NativePlan } from "@switchyard/providers";
import type { AwsSigning, ExchangeRequest } from "@switchyard/upstream";

/** An answer that is read as it comes. */
export type ReadAnswerPlan = Pick<ExchangePlan, "translated" | "streamType" | "openStream" | "readAnswer">;

/** An answer that passes, whatever it is. */
export interface PassedAnswerPlan extends Pick<NativePlan, "watch"> {
  readonly translated: false;
}

/** What one attempt is to do. Times in ms, 0 = off. */
export interface AttemptPlan {
  readonly exchange: ExchangeRequest;
  /** Where the provider wants requests signed: with what. */
  readonly signing: AwsSigning | undefined;
  readonly family: string;
  /** How the provider's answer becomes the caller's. */
  readonly answer: ReadAnswerPlan | PassedAnswerPlan;
  readonly streams: boolean;
  readonly firstTokenTimeoutMs: number;
  /** Runs to the end of a response that does not stream (E5). */
  readonly wholeTimeoutMs: number;
}

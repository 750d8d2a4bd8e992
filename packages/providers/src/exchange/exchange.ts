import type { StreamReader } from "../dialects/dialect.ts";
import type { Family, ProviderAccount, ProviderRequest } from "../families/family.ts";
import type { TokenUsage } from "../neutral/usage.ts";
import type { Origin } from "../origin/own-signatures.ts";
import type { BodyFacts } from "../request/facts.ts";

/** One attempt, in the caller's words. */
export interface ExchangeInput {
  readonly family: Family;
  readonly account: ProviderAccount;
  /** The provider's name of the model. */
  readonly model: string;
  /** Of the body; its endpoint is the one that was called. */
  readonly facts: BodyFacts;
  readonly body: Uint8Array;
  /** Of the caller's URL, without the question mark. */
  readonly query: string;
  readonly secret: string | undefined;
  /** The secret was got for the account's credential. Absent means no. */
  readonly secretIsToken?: boolean | undefined;
  /** Flat: name, value, … */
  readonly callerHeaders: readonly string[];
  /** Someone is charged by the token, so a chat stream must tell its usage (P4). */
  readonly countsTokens: boolean;
  readonly requestId: string;
  /** Unix time, ms. */
  readonly now: number;
  /** The account's mark (see `originOf`), and whether other accounts may serve the caller's later requests (BH-31). Absent: no marks. */
  readonly origin?: Origin | undefined;
}

/** What a success that does not stream turned out to be. `body` is the caller's. */
export type ReadAnswer =
  | {
      readonly kind: "usable";
      readonly body: Uint8Array;
      readonly usage: TokenUsage | undefined;
      readonly model: string | undefined;
      /** Ids under which the provider keeps the answer (P8); absent where it keeps none. */
      readonly keeps?: readonly string[];
      /** The caller asked for a stream that the provider did not make: a translated `body` is one all the same, told at once. */
      readonly streamed?: boolean;
    }
  /** A 200 that holds an error; the body is to be recognised as one, or `said`, where the error stands deeper in it. */
  | { readonly kind: "error"; readonly said?: Uint8Array }
  /** No usable answer: class `invalid_response`. `reason` holds nothing of the body. */
  | { readonly kind: "invalid"; readonly reason: string };

/** What to send to a provider, and how its answer becomes the caller's. */
export interface ExchangePlan {
  readonly request: ProviderRequest;
  /** The answer is told in other words, so bytes that were not read whole can't go on. */
  readonly translated: boolean;
  /** `content-type` of the provider's streams, without parameters. */
  readonly streamType: string;
  openStream(): StreamReader;
  readAnswer(body: Uint8Array): ReadAnswer;
}

import type { TokenUsage } from "../neutral/usage.ts";

/** What a 200 body that does not stream turned out to be. */
export type AnswerReading =
  /** Goes on to the caller. */
  | {
      readonly kind: "usable";
      readonly model: string | undefined;
      readonly usage: TokenUsage | undefined;
      /** Ids under which the provider keeps the answer (P8); absent where it keeps none. */
      readonly keeps?: readonly string[];
    }
  /** A 200 that holds an error; the body is to be recognised as one, or `said`, where the error stands deeper in it. */
  | { readonly kind: "error"; readonly said?: Uint8Array }
  /** No usable answer: class `invalid_response` (BH-07). `reason` is for logs and holds nothing of the body. */
  | { readonly kind: "invalid"; readonly reason: string };

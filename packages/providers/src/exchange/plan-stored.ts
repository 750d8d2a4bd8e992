import { ResponsesStreamReader } from "../dialects/responses/responses-stream.ts";
import type { StoredCall } from "../families/family.ts";
import type { ExchangeInput, ExchangePlan } from "./exchange.ts";
import { SSE_TYPE } from "../sse/framer.ts";

/** Plans a call about a response that its account keeps (P8): all of it goes as it came, and whatever comes back is the answer, which
 * was paid for before. */
export function planStored(
  input: Pick<ExchangeInput, "family" | "account" | "model" | "body" | "query" | "secret" | "callerHeaders">,
  stored: StoredCall,
): ExchangePlan {
  return {
    request: input.family.buildRequest({ ...input, endpoint: "responses", stored }),
    translated: false,
    streamType: SSE_TYPE,
    openStream: () => new ResponsesStreamReader({ replays: true }),
    readAnswer: (body) => ({ kind: "usable", body, model: undefined, usage: undefined }),
  };
}

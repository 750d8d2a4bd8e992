export type { AnswerReading } from "./dialects/answer.ts";
export type { AnswerWatch } from "./dialects/answer-watch.ts";
export type { CallerError, Dialect, StreamReader, StreamVerdict } from "./dialects/dialect.ts";
export { dialectOf } from "./dialects/index.ts";
export type { ChatStreamOptions } from "./dialects/openai/chat-stream.ts";
export type { TokenUsage } from "./neutral/usage.ts";
export { type ProviderAnswer, type RecognisedError, recogniseError } from "./errors/recognise-error.ts";
export { secretParts } from "./families/aws-credential.ts";
export {
  type Capabilities,
  capabilities,
  type EndpointReach,
  type FamilyName,
  isFamilyName,
  reachOf,
} from "./families/capabilities.ts";
export type {
  AwsSigning,
  Family,
  ProviderAccount,
  ProviderRequest,
  ProviderRequestInput,
  StoredCall,
  Wire,
} from "./families/family.ts";
export { FAMILIES } from "./families/index.ts";
export { callerHeaders } from "./families/response-headers.ts";
export { readConversationText } from "./request/conversation.ts";
export {
  type BodyFacts,
  type BodyFault,
  type BodyLayout,
  type ByteRange,
  type RequestFactsResult,
  readRequestFacts,
} from "./request/facts.ts";
export { factsOfNative, type NativeCall } from "./request/native-facts.ts";
export { originOf } from "./origin/origin-mark.ts";
export { readOrigins } from "./origin/origin-marks.ts";
export type { BodyRewrite } from "./request/rewrite.ts";
export { readSessionKey } from "./request/session.ts";
export { factsOfStored } from "./request/stored-facts.ts";
export type { ExchangeInput, ExchangePlan, ReadAnswer } from "./exchange/exchange.ts";
export { planExchange } from "./exchange/plan-exchange.ts";
export { type NativePlan, planNative } from "./exchange/plan-native.ts";
export { planStored } from "./exchange/plan-stored.ts";
export { SseFramer } from "./sse/framer.ts";
export { ElsewhereFault, TranslationFault } from "./translate/fault.ts";

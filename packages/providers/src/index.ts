export type { AnswerReading } from "./dialects/answer.ts";
export type { CallerError, Dialect, StreamReader, StreamVerdict } from "./dialects/dialect.ts";
export { dialectOf } from "./dialects/index.ts";
export { readCountAnswer, readMessagesAnswer } from "./dialects/anthropic/answer.ts";
export { MessagesStreamReader } from "./dialects/anthropic/messages-stream.ts";
export { readChatAnswer, readEmbeddingsAnswer } from "./dialects/openai/answer.ts";
export {
  type ChatStreamOptions,
  ChatStreamReader,
  createChatStreamReader,
} from "./dialects/openai/chat-stream.ts";
export { readResponsesAnswer } from "./dialects/responses/answer.ts";
export { ResponsesStreamReader } from "./dialects/responses/responses-stream.ts";
export { convertEmbeddings } from "./dialects/openai/embedding-format.ts";
export type { TokenUsage } from "./dialects/usage.ts";
export { type ProviderAnswer, type RecognisedError, recogniseError } from "./errors/recognise-error.ts";
export { retryAfterMs } from "./errors/retry-after.ts";
export { classOfStatus, reasonOfStatus } from "./errors/status-class.ts";
export { secretParts } from "./families/aws-credential.ts";
export {
  CAPABILITIES,
  type Capabilities,
  capabilities,
  type EndpointReach,
  FAMILY_NAMES,
  type FamilyName,
  isFamilyName,
  reachOf,
} from "./families/capabilities.ts";
export {
  type AwsSigning,
  type Family,
  FamilyError,
  type ProviderAccount,
  type ProviderRequest,
  type ProviderRequestInput,
  type StoredCall,
  type Wire,
} from "./families/family.ts";
export { FAMILIES } from "./families/index.ts";
export { callerHeaders, UPSTREAM_REQUEST_ID } from "./families/response-headers.ts";
export { readConversationText } from "./request/conversation.ts";
export {
  type BodyEndpoint,
  type BodyFacts,
  type BodyFault,
  type BodyLayout,
  type ByteRange,
  type RequestFactsResult,
  readRequestFacts,
} from "./request/facts.ts";
export { originOf, readOrigins } from "./request/origin-marks.ts";
export { type BodyRewrite, rewriteBody } from "./request/rewrite.ts";
export { readSessionKey } from "./request/session.ts";
export { factsOfStored } from "./request/stored-facts.ts";
export {
  type ExchangeInput,
  type ExchangePlan,
  planExchange,
  type ReadAnswer,
} from "./translate/exchange.ts";
export { planStored } from "./translate/stored-exchange.ts";
export { ElsewhereFault, TranslationFault } from "./translate/fault.ts";

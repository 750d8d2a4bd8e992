export {
  type Answer,
  delayed,
  EMPTY_STREAM,
  encoded,
  type Framing,
  HEADERS_THEN_HANG,
  type HeaderLines,
  json,
  type RawOptions,
  raw,
  RESET,
  SILENT,
  sse,
  text,
  verbatim,
  withHeaders,
} from "./answers.ts";
export { type BlackHole, createBlackHole } from "./black-hole.ts";
export { type ChatMessage, type ChatPayload, type ChatPayloadOptions, chatPayload } from "./chat-payload.ts";
export { resetFirst, resetReused } from "./connection-faults.ts";
export { type FakeClock, fakeClock, seededRandom, seededSeeds } from "./determinism.ts";
export {
  AE,
  asAsked,
  BROKEN,
  CH,
  data,
  DONE,
  embeddings,
  failure,
  float32Base64,
  G,
  HEALTHY,
  OK,
  ROLE,
  tooMany,
  unauthorized,
  USAGE,
} from "./dialects.ts";
export { type Encoding, encodeBody } from "./encoding.ts";
export { comesTrue, eventually } from "./eventually.ts";
export { freePort } from "./free-port.ts";
export { ManagedProcess, type ProcessExit, startNode, type StartNodeOptions } from "./managed-process.ts";
export { RawHttpClient, type RawHttpOptions, type RawResponse, rawHttp, rawRequest } from "./raw-http.ts";
export type { ClosedHow, RecordedCall } from "./recorded-call.ts";
export {
  createScriptedProvider,
  type Hold,
  type Reply,
  ScriptedProvider,
  type ScriptedProviderOptions,
} from "./scripted-provider.ts";
export { type CollectedSse, collectSse, parseSse, type SseEvent, SseParser, summarize } from "./sse.ts";
export {
  type Control,
  cutAt,
  drip,
  endlessLine,
  EOF,
  FIN,
  FLUSH,
  flood,
  floodText,
  HANG,
  NEXT,
  paced,
  RST,
  type Step,
  until,
  wait,
} from "./steps.ts";
export { createTcpProxy, TcpProxy } from "./tcp-proxy.ts";
export { within } from "./within.ts";
export { type HeaderPair, headerOf } from "./wire-reader.ts";

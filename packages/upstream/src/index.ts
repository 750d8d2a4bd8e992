export { createAwsKeys } from "./auth/aws-keys.ts";
export { createEntraTokens } from "./auth/entra-tokens.ts";
export { createGoogleTokens } from "./auth/google-tokens.ts";
export { type AwsSigning, type Signable, signAws } from "./auth/sign-aws.ts";
export type { TokenSource } from "./auth/token-source.ts";
export { isFieldValue } from "@switchyard/http1";
export { ExchangeError, type ExchangePhase } from "./errors.ts";
export type {
  Exchange,
  ExchangeHandler,
  ExchangeHead,
  ExchangeRequest,
  RequestBody,
  Upstream,
  UpstreamClock,
  UpstreamOptions,
  UpstreamStats,
  UpstreamTimer,
  UpstreamTls,
} from "./types.ts";
export { createUpstream } from "./upstream.ts";

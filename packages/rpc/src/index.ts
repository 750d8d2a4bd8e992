export { Code, ConnectError } from "@connectrpc/connect";
export { type Call, CallContext, type CallOptions } from "./call.ts";
export {
  connectCodeOf,
  type Failure,
  failure,
  type FailureOptions,
  readFailure,
  toConnectError,
} from "./failure.ts";
export { readStream } from "./read-stream.ts";
export type { MethodImpl, ServiceImpl, Sink, StreamMethod, UnaryMethod } from "./service.ts";

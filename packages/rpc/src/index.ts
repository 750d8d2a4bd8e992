export { Code, ConnectError } from "@connectrpc/connect";
export { type Call, CallContext, type CallOptions } from "./call.ts";
export type { ChannelOptions } from "./client/channel.ts";
export { createLeanClient, type LeanClient, type LeanClientOptions } from "./client/lean-client.ts";
export {
  connectCodeOf,
  type Failure,
  failure,
  type FailureOptions,
  readFailure,
  toConnectError,
} from "./failure.ts";
export { readStream } from "./read-stream.ts";
export type { OnError } from "./server/lean-handler.ts";
export { createRpcServer, type RpcServer, type RpcServerOptions } from "./server/rpc-server.ts";
export { type Registration, registration } from "./server/route.ts";
export { toStockRoutes } from "./server/stock-routes.ts";
export type { MethodImpl, ServiceImpl, Sink, StreamMethod, UnaryMethod } from "./service.ts";
export { createStockClient, type StockClientOptions } from "./stock-client.ts";

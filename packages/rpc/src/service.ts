import type { DescMessage, DescMethod, DescService, MessageShape } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { Call } from "./call.ts";

/**
 * Where a server stream goes. The producer ends it exactly once, by `end` or `fail`; after that, and after the
 * call was cancelled, everything is ignored. A cancelled call may end by `fail` with `canceled` or not at all.
 */
export interface Sink<M> {
  /** False: full; still taken, but wait for the drain before more. */
  send(message: M): boolean;
  end(): void;
  fail(error: ConnectError): void;
  /** One listener, the last one set; called each time there is room again after a `send` that answered false. */
  onDrain(listener: () => void): void;
}

/** Fails by throwing or rejecting with a `ConnectError`; see `failure`. */
export type UnaryMethod<I, O> = (request: I, call: Call) => O | Promise<O>;

/** Returns at once and goes on by itself. What it throws is taken as `sink.fail`. */
export type StreamMethod<I, O> = (request: I, sink: Sink<O>, call: Call) => void;

export type MethodImpl<
  M extends { methodKind: DescMethod["methodKind"]; input: DescMessage; output: DescMessage },
> = M["methodKind"] extends "unary"
  ? UnaryMethod<MessageShape<M["input"]>, MessageShape<M["output"]>>
  : M["methodKind"] extends "server_streaming"
    ? StreamMethod<MessageShape<M["input"]>, MessageShape<M["output"]>>
    : never;

/**
 * A service as a plain typed object. A client has the same shape, so that within one process services call each
 * other directly, and between processes a client from `createLeanClient` stands in. Requests are whole messages:
 * made by `create(Schema, init)`.
 */
export type ServiceImpl<S extends DescService> = {
  readonly [K in keyof S["method"]]: MethodImpl<S["method"][K]>;
};

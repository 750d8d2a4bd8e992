import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { Call } from "../call.ts";
import { toConnectError } from "../failure.ts";
import type { ServiceImpl, Sink } from "../service.ts";
import { createEncoder } from "../wire/encode.ts";
import type { CallKind } from "./attempts.ts";
import { Channel, type ChannelOptions } from "./channel.ts";
import { StreamCall } from "./stream-call.ts";
import { UnaryCall } from "./unary-call.ts";

export interface LeanClientOptions<S extends DescService> extends ChannelOptions {
  /**
   * Methods that may be sent again when a server went away without an answer, and of which the unary ones answer at
   * once, so that they share connections. All others are sent again only when nothing of them was sent.
   */
  resendable?: readonly (keyof S["method"] & string)[] | undefined;
  /** The most bytes of one message of an answer; 128 MiB when left out. */
  maxMessageBytes?: number | undefined;
}

/** A client of a service in another process, in the service's own shape; disposing of it closes its connections. */
export type LeanClient<S extends DescService> = ServiceImpl<S> & Disposable;

/**
 * Speaks the Connect protocol, binary, over kept-alive HTTP/1.1 connections to any of several equal servers.
 * Errors are ConnectErrors: `unavailable` when no server is reachable or an answer was cut, `canceled` and
 * `deadline_exceeded` at once when the call says so, and whatever the server answered.
 */
export function createLeanClient<S extends DescService>(
  service: S,
  options: LeanClientOptions<S>,
): LeanClient<S> {
  const channel = new Channel(options);
  const methods: Record<string, unknown> = {};
  for (const method of service.methods) {
    const resendable = options.resendable?.includes(method.localName) ?? false;
    const kind: CallKind = {
      channel,
      prefixes: channel.hosts.map((host) => requestPrefix(host, service, method)),
      resendable,
      // A stream would keep what waits behind it.
      shared: resendable && method.methodKind === "unary",
      maxMessageBytes: options.maxMessageBytes ?? 128 * 1024 * 1024,
    };
    if (method.methodKind === "unary") methods[method.localName] = unaryMethod(kind, method);
    else if (method.methodKind === "server_streaming") methods[method.localName] = streamMethod(kind, method);
  }
  return Object.assign(methods as ServiceImpl<S>, { [Symbol.dispose]: () => channel.close() });
}

function unaryMethod(kind: CallKind, method: DescMethod): (request: never, call: Call) => Promise<unknown> {
  const encode = createEncoder(method.input);
  return (request, call) =>
    new Promise((resolve, reject) => {
      new UnaryCall(kind, call, encode(request), method.output, resolve, reject).start();
    });
}

function streamMethod(
  kind: CallKind,
  method: DescMethod,
): (request: never, sink: Sink<never>, call: Call) => void {
  const encode = createEncoder(method.input);
  return (request, sink, call) => {
    try {
      new StreamCall(kind, call, encode(request), method.output, sink).start();
    } catch (error) {
      sink.fail(toConnectError(error));
    }
  };
}

function requestPrefix(host: string, service: DescService, method: DescMethod): string {
  const type = method.methodKind === "unary" ? "application/proto" : "application/connect+proto";
  return (
    `POST /${service.typeName}/${method.name} HTTP/1.1\r\nhost: ${host}\r\n` +
    `content-type: ${type}\r\nconnect-protocol-version: 1\r\n`
  );
}

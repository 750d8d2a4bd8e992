import type { DescService, Message } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import type { Call } from "./call.ts";
import { toConnectError } from "./failure.ts";
import type { ServiceImpl, Sink } from "./service.ts";

export interface StockClientOptions {
  protocol?: "connect" | "grpc" | "grpc-web" | undefined;
  httpVersion?: "1.1" | "2" | undefined;
}

interface CallInit {
  headers: [string, string][];
  signal: AbortSignal;
  timeoutMs: number | undefined;
}

/** The stock client in the shape of the service: to check that both ends speak what everybody speaks. For tests. */
export function createStockClient<S extends DescService>(
  service: S,
  url: string,
  options: StockClientOptions = {},
): ServiceImpl<S> & Disposable {
  const { protocol = "connect", httpVersion = "1.1" } = options;
  const sessionManager = httpVersion === "2" ? new Http2SessionManager(url) : undefined;
  const base = { baseUrl: url, ...(sessionManager === undefined ? {} : { sessionManager }) };
  const transport =
    protocol === "grpc"
      ? createGrpcTransport(base)
      : protocol === "grpc-web"
        ? createGrpcWebTransport({ ...base, httpVersion })
        : createConnectTransport({ ...base, httpVersion, useBinaryFormat: true });
  const client = createClient(service as DescService, transport) as unknown as Record<string, never>;
  const methods: Record<string, unknown> = {};
  for (const { localName, methodKind } of service.methods) {
    if (methodKind === "unary") methods[localName] = unary(client[localName] as never);
    else if (methodKind === "server_streaming") methods[localName] = stream(client[localName] as never);
  }
  return Object.assign(methods as ServiceImpl<S>, { [Symbol.dispose]: () => sessionManager?.abort() });
}

function unary(invoke: (request: Message, init: CallInit) => Promise<Message>) {
  return (request: Message, call: Call): Promise<Message> => invoke(request, initOf(call));
}

function stream(invoke: (request: Message, init: CallInit) => AsyncIterable<Message>) {
  return (request: Message, sink: Sink<Message>, call: Call): void => {
    let wake = (): void => {};
    sink.onDrain(() => wake());
    const pump = async (): Promise<void> => {
      for await (const message of invoke(request, initOf(call))) {
        const room = new Promise<void>((resolve) => {
          wake = resolve;
        });
        if (!sink.send(message)) await room;
      }
    };
    pump().then(
      () => sink.end(),
      (error: unknown) => sink.fail(toConnectError(error)),
    );
  };
}

function initOf(call: Call): CallInit {
  const headers: [string, string][] = [];
  call.eachHeader((name, value) => headers.push([name, value]));
  const timeoutMs = call.deadline === undefined ? undefined : Math.max(1, call.deadline - Date.now());
  return { headers, signal: call.signal, timeoutMs };
}

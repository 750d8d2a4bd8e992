import type { Message } from "@bufbuild/protobuf";
import { ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import { Cancellable } from "../call.ts";
import { toConnectError } from "../failure.ts";
import { readStream } from "../read-stream.ts";
import type { StreamMethod, UnaryMethod } from "../service.ts";
import { isProtocolField } from "../wire/metadata.ts";
import type { OnError } from "./lean-handler.ts";
import type { Registration } from "./route.ts";
import { createRequestCheck } from "./validate.ts";

/** The same implementations and checks as routes of the stock router: for gRPC, gRPC-Web, Connect with JSON, and compression. */
export function toStockRoutes(
  registrations: readonly Registration[],
  onError: OnError = () => {},
): (router: ConnectRouter) => void {
  return (router) => {
    for (const { service, impl } of registrations) {
      const methods: Record<string, unknown> = {};
      for (const method of service.methods) {
        const handler = impl[method.localName];
        const name = `${service.typeName}/${method.name}`;
        if (typeof handler !== "function") continue;
        const served: Served = { check: createRequestCheck(method.input), name, onError };
        const bound: unknown = handler.bind(impl);
        if (method.methodKind === "unary") {
          methods[method.localName] = unary(bound as UnaryMethod<Message, Message>, served);
        } else if (method.methodKind === "server_streaming") {
          methods[method.localName] = stream(bound as StreamMethod<Message, Message>, served);
        }
      }
      router.service(service, methods as never);
    }
  };
}

interface Served {
  readonly check: (request: Message) => void;
  readonly name: string;
  readonly onError: OnError;
}

function unary(invoke: UnaryMethod<Message, Message>, { check, name, onError }: Served) {
  return async (request: Message, context: HandlerContext): Promise<Message> => {
    check(request);
    const call = new StockCall(context);
    try {
      return await invoke(request, call);
    } catch (error) {
      throw told(error, name, onError);
    } finally {
      call.finish();
    }
  };
}

function stream(invoke: StreamMethod<Message, Message>, { check, name, onError }: Served) {
  return async function* (
    request: Message,
    context: HandlerContext,
  ): AsyncGenerator<Message, void, undefined> {
    check(request);
    const call = new StockCall(context);
    const messages = readStream<Message>(
      (sink) => {
        try {
          invoke(request, sink, call);
        } catch (error) {
          sink.fail(told(error, name, onError));
        }
        call.onCancel(() => sink.end());
      },
      { onLeave: () => call.cancel() },
    );
    try {
      yield* messages;
      context.signal.throwIfAborted();
    } finally {
      call.finish();
    }
  };
}

function told(error: unknown, name: string, onError: OnError): ConnectError {
  if (!(error instanceof ConnectError)) onError(error, name);
  return toConnectError(error);
}

/** A call that the stock router took. Its signal aborts at the end of every call, which is no leaving. */
class StockCall extends Cancellable {
  readonly deadline: number | undefined;
  readonly #context: HandlerContext;
  readonly #follow = (): void => this.cancel();

  constructor(context: HandlerContext) {
    super();
    this.#context = context;
    const left = context.timeoutMs();
    this.deadline = left === undefined ? undefined : Date.now() + left;
    // The caller may have left, or its deadline passed, while the request was still being read.
    if (context.signal.aborted) this.cancel();
    else context.signal.addEventListener("abort", this.#follow, { once: true });
  }

  header(name: string): string | undefined {
    return this.#context.requestHeader.get(name) ?? undefined;
  }

  eachHeader(visit: (name: string, value: string) => void): void {
    this.#context.requestHeader.forEach((value, name) => {
      if (!isProtocolField(name)) visit(name, value);
    });
  }

  finish(): void {
    this.#context.signal.removeEventListener("abort", this.#follow);
  }
}

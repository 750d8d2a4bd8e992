import {
  type DescMethod,
  type DescService,
  fromBinary,
  type Message,
  type DescMessage,
} from "@bufbuild/protobuf";
import { failure } from "../failure.ts";
import type { ServiceImpl, StreamMethod, UnaryMethod } from "../service.ts";
import { createEncoder, type Encoded } from "../wire/encode.ts";
import { createRequestCheck } from "./validate.ts";

/** A service and who implements it; see `registration`. */
export interface Registration {
  readonly service: DescService;
  readonly impl: Readonly<Record<string, unknown>>;
}

/** Pairs a service with its implementation, checked against each other. */
export function registration<S extends DescService>(service: S, impl: ServiceImpl<S>): Registration {
  return { service, impl };
}

interface RouteBase {
  /** `switchyard.routing.v1.RoutingService/Decide`. */
  readonly name: string;
  readonly contentType: string;
  /** Throws a ConnectError for what is no valid request. */
  decode(bytes: Uint8Array): Message;
  encode(message: Message): Encoded;
}

export interface UnaryRoute extends RouteBase {
  readonly kind: "unary";
  readonly invoke: UnaryMethod<Message, Message>;
}

export interface StreamRoute extends RouteBase {
  readonly kind: "stream";
  readonly invoke: StreamMethod<Message, Message>;
}

/** A method as the lean handlers serve it. */
export type Route = UnaryRoute | StreamRoute;

/** All methods that are served lean, by path. */
export function createRoutes(registrations: readonly Registration[]): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>();
  for (const { service, impl } of registrations) {
    for (const method of service.methods) {
      const handler = impl[method.localName];
      if (typeof handler !== "function") continue;
      const base = createBase(service, method);
      const invoke = handler.bind(impl) as never;
      if (method.methodKind === "unary") {
        routes.set(`/${base.name}`, { ...base, kind: "unary", contentType: "application/proto", invoke });
      } else if (method.methodKind === "server_streaming") {
        routes.set(`/${base.name}`, {
          ...base,
          kind: "stream",
          contentType: "application/connect+proto",
          invoke,
        });
      }
    }
  }
  return routes;
}

function createBase(service: DescService, method: DescMethod): Omit<RouteBase, "contentType"> {
  const check = createRequestCheck(method.input);
  const encode = createEncoder<DescMessage>(method.output);
  return {
    name: `${service.typeName}/${method.name}`,
    decode(bytes) {
      let message: Message;
      try {
        message = fromBinary(method.input, bytes) as Message;
      } catch (error) {
        throw failure("invalid_request", "the request cannot be decoded", { status: 400, cause: error });
      }
      check(message);
      return message;
    },
    encode,
  };
}

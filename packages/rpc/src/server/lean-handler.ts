import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, endStreamToJson, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { mergeNonProtocolHeaders } from "@connectrpc/connect/protocol";
import type { Part } from "@switchyard/http1";
import { toConnectError } from "../failure.ts";
import type { Sink } from "../service.ts";
import type { Encoded } from "../wire/encode.ts";
import { compressedFlag, envelopeBytes, endStreamFlag, envelopeHead } from "../wire/envelope.ts";
import { atDeadline } from "../wire/metadata.ts";
import type { Route, StreamRoute, UnaryRoute } from "./route.ts";
import { type HeaderSource, ServerCall } from "./server-call.ts";

/** The response side of one exchange, over whatever carries it. After the caller left all of it is ignored. */
export interface Responder {
  /** The whole response. */
  answer(status: number, contentType: string, fields: Headers | undefined, body: Encoded): void;
  /** The head of a stream; then any number of `write`, then `end`. */
  open(contentType: string): void;
  /** Parts of one message. False: full; `onDrain` is called when there is room. */
  write(parts: readonly Part[], bytes: number): boolean;
  end(): void;
  onDrain: (() => void) | undefined;
  /** Called once when the caller leaves before the response is complete. */
  onLeft: (() => void) | undefined;
}

/** Told of faults that are our own: what is no ConnectError. */
export type OnError = (error: unknown, method: string) => void;

/** Serves one request whose body is whole. */
export function serve(
  route: Route,
  headers: HeaderSource,
  body: Buffer,
  to: Responder,
  onError: OnError,
): void {
  if (route.kind === "unary") serveUnary(route, headers, body, to, onError);
  else serveStream(route, headers, body, to, onError);
}

/** Refuses a request before or without its handler. */
export function refuse(route: Route, to: Responder, error: ConnectError): void {
  if (route.kind === "unary") return answerError(to, error);
  to.open(route.contentType);
  writeEnd(to, error);
}

function serveUnary(
  route: UnaryRoute,
  headers: HeaderSource,
  body: Buffer,
  to: Responder,
  onError: OnError,
): void {
  let over = false;
  const fail = (error: unknown): void => {
    if (over) return;
    over = true;
    if (!(error instanceof ConnectError)) onError(error, route.name);
    answerError(to, toConnectError(error));
  };
  const finish = (message: Message): void => {
    if (over) return;
    let encoded: Encoded;
    try {
      encoded = route.encode(message);
    } catch (error) {
      return fail(error);
    }
    over = true;
    to.answer(200, route.contentType, undefined, encoded);
  };
  try {
    const call = new ServerCall(headers);
    if (call.deadline !== undefined && call.deadline <= Date.now()) throw expired();
    const result = route.invoke(route.decode(body), call);
    if (!(result instanceof Promise)) return finish(result);
    const timer = atDeadline(call.deadline, () => {
      fail(expired());
      call.cancel();
    });
    to.onLeft = () => {
      over = true;
      clearTimeout(timer);
      call.cancel();
    };
    result.then(finish, fail).finally(() => clearTimeout(timer));
  } catch (error) {
    fail(error);
  }
}

function serveStream(
  route: StreamRoute,
  headers: HeaderSource,
  body: Buffer,
  to: Responder,
  onError: OnError,
): void {
  to.open(route.contentType);
  let over = false;
  let timer: NodeJS.Timeout | undefined;
  const finish = (error: ConnectError | undefined): void => {
    if (over) return;
    over = true;
    clearTimeout(timer);
    writeEnd(to, error);
  };
  const fail = (error: unknown): void => {
    if (!over && !(error instanceof ConnectError)) onError(error, route.name);
    finish(toConnectError(error));
  };
  const sink: Sink<Message> = {
    send(message) {
      if (over) return false;
      const { head, tail, length } = route.encode(message);
      const envelope = envelopeHead(0, length);
      return to.write(tail === undefined ? [envelope, head] : [envelope, head, tail], envelopeBytes + length);
    },
    end: () => finish(undefined),
    fail,
    onDrain(listener) {
      to.onDrain = () => {
        try {
          listener();
        } catch (error) {
          fail(error);
        }
      };
    },
  };
  try {
    const call = new ServerCall(headers);
    timer = atDeadline(call.deadline, () => {
      finish(expired());
      call.cancel();
    });
    to.onLeft = () => {
      over = true;
      clearTimeout(timer);
      call.cancel();
    };
    route.invoke(route.decode(onlyMessage(body)), sink, call);
  } catch (error) {
    fail(error);
  }
}

/** A server stream's request is exactly one message in its envelope. */
function onlyMessage(body: Buffer): Buffer {
  const whole = body.length >= envelopeBytes && body.readUInt32BE(1) === body.length - envelopeBytes;
  if (!whole || ((body[0] as number) & (compressedFlag | endStreamFlag)) !== 0) {
    throw new ConnectError("the request is not one message", Code.InvalidArgument);
  }
  return body.subarray(envelopeBytes);
}

function answerError(to: Responder, error: ConnectError): void {
  const body = errorToJsonBytes(error, undefined);
  const fields = new Headers();
  if (!error.isWireError) mergeNonProtocolHeaders(fields, error.metadata);
  const encoded = { head: body, tail: undefined, length: body.length };
  to.answer(codeToHttpStatus(error.code), "application/json", fields, encoded);
}

const plainEnd = Buffer.from("{}");

function writeEnd(to: Responder, error: ConnectError | undefined): void {
  const json =
    error === undefined
      ? plainEnd
      : Buffer.from(JSON.stringify(endStreamToJson(new Headers(), error, undefined)));
  to.write([envelopeHead(endStreamFlag, json.length), json], envelopeBytes + json.length);
  to.end();
}

function expired(): ConnectError {
  return new ConnectError("the deadline passed", Code.DeadlineExceeded);
}

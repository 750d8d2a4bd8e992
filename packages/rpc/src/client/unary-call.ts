import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeFromHttpStatus, errorFromJsonBytes } from "@connectrpc/connect/protocol-connect";
import type { Fields, ResponseHead } from "@switchyard/http1";
import type { Call } from "../call.ts";
import type { Encoded } from "../wire/encode.ts";
import { isProtocolField } from "../wire/metadata.ts";
import { Attempts, type CallKind } from "./attempts.ts";

/** A unary call: the Connect protocol's plain POST. */
export class UnaryCall<O extends DescMessage> extends Attempts {
  readonly #output: O;
  readonly #resolve: (message: MessageShape<O>) => void;
  readonly #reject: (error: ConnectError) => void;
  #head: ResponseHead | undefined;
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(
    kind: CallKind,
    call: Call,
    request: Encoded,
    output: O,
    resolve: (message: MessageShape<O>) => void,
    reject: (error: ConnectError) => void,
  ) {
    super(kind, call, undefined, request);
    this.#output = output;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  protected onAnswer(head: ResponseHead): void {
    this.#head = head;
    this.#pieces = [];
    this.#bytes = 0;
  }

  onData(bytes: Buffer): void {
    this.#pieces.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes > this.kind.maxMessageBytes) {
      this.breakOff(new ConnectError("the answer is too large", Code.ResourceExhausted));
    }
  }

  onEnd(): void {
    if (this.over) return;
    const body = this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces);
    const head = this.#head as ResponseHead;
    if (head.status !== 200) return this.fail(readUnaryError(head, body));
    if (head.fields.get("content-type") !== "application/proto") {
      return this.fail(new ConnectError("the answer is not protobuf", Code.Unknown));
    }
    let message: MessageShape<O>;
    try {
      message = fromBinary(this.#output, body);
    } catch {
      return this.fail(new ConnectError("the answer cannot be decoded", Code.Internal));
    }
    if (this.finish()) this.#resolve(message);
  }

  protected onFailure(error: ConnectError): void {
    this.#reject(error);
  }
}

/** The error of a response that is not 200. */
export function readUnaryError(head: ResponseHead, body: Uint8Array): ConnectError {
  const code = codeFromHttpStatus(head.status);
  const fallback = new ConnectError(`HTTP ${head.status}`, code);
  if (head.fields.get("content-type")?.startsWith("application/json") !== true) return fallback;
  try {
    const error = errorFromJsonBytes(body, metadataOf(head.fields), fallback);
    // JSON of another shape: whoever answered does not speak this protocol.
    return error.rawMessage === "" && error.details.length === 0 ? fallback : error;
  } catch {
    return fallback;
  }
}

function metadataOf(fields: Fields): Headers {
  const metadata = new Headers();
  fields.names.forEach((name, i) => {
    if (!isProtocolField(name)) metadata.append(name, fields.values[i] as string);
  });
  return metadata;
}

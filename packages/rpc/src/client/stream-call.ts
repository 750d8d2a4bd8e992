import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { endStreamFromJson } from "@connectrpc/connect/protocol-connect";
import type { ResponseHead } from "@switchyard/http1";
import type { Call } from "../call.ts";
import { toConnectError } from "../failure.ts";
import type { Sink } from "../service.ts";
import type { Encoded } from "../wire/encode.ts";
import { compressedFlag, EnvelopeReader, endStreamFlag, envelopeHead } from "../wire/envelope.ts";
import { Attempts, type CallKind } from "./attempts.ts";
import { readUnaryError } from "./unary-call.ts";

// An error answer that is no stream is small; the rest of a larger one says nothing.
const maxErrorBytes = 65_536;

/** A server stream: the messages of one read go to the sink one after the other, and a full sink stops the reading. */
export class StreamCall<O extends DescMessage> extends Attempts {
  readonly #output: O;
  readonly #sink: Sink<MessageShape<O>>;
  readonly #reader: EnvelopeReader;
  #head: ResponseHead | undefined;
  #plain: Buffer[] | undefined;
  #plainBytes = 0;
  #end: { error: ConnectError | undefined } | undefined;

  constructor(kind: CallKind, call: Call, request: Encoded, output: O, sink: Sink<MessageShape<O>>) {
    super(kind, call, envelopeHead(0, request.length), request);
    this.#output = output;
    this.#sink = sink;
    this.#reader = new EnvelopeReader(kind.maxMessageBytes, (flags, bytes) => this.#take(flags, bytes));
    sink.onDrain(() => {
      if (!this.over) this.connection?.resume();
    });
  }

  protected onAnswer(head: ResponseHead): void {
    this.#head = head;
    const streams = head.status === 200 && head.fields.get("content-type") === "application/connect+proto";
    this.#plain = streams ? undefined : [];
  }

  onData(bytes: Buffer): void {
    if (this.over) return;
    if (this.#plain !== undefined) {
      this.#plainBytes += bytes.length;
      if (this.#plainBytes <= maxErrorBytes) this.#plain.push(bytes);
    } else if (!this.#reader.push(bytes)) {
      this.breakOff(new ConnectError("a message is too large", Code.ResourceExhausted));
    }
  }

  onEnd(): void {
    if (this.#plain !== undefined) {
      return this.fail(readUnaryError(this.#head as ResponseHead, Buffer.concat(this.#plain)));
    }
    if (this.#end === undefined) return this.fail(new ConnectError("the stream was cut", Code.Unavailable));
    const { error } = this.#end;
    if (error !== undefined) this.fail(error);
    else if (this.finish()) this.#sink.end();
  }

  protected onFailure(error: ConnectError): void {
    this.#sink.fail(error);
  }

  #take(flags: number, bytes: Buffer): void {
    if (this.over) return;
    if ((flags & endStreamFlag) !== 0) this.#takeEnd(bytes);
    else if (this.#end !== undefined || (flags & compressedFlag) !== 0) {
      this.breakOff(new ConnectError("the stream is malformed", Code.Internal));
    } else this.#takeMessage(bytes);
  }

  #takeMessage(bytes: Buffer): void {
    try {
      const message = fromBinary(this.#output, bytes);
      if (!this.#sink.send(message) && !this.over) this.connection?.pause();
    } catch (error) {
      this.breakOff(toConnectError(error));
    }
  }

  #takeEnd(bytes: Buffer): void {
    // `{}`: the usual end.
    if (bytes.length === 2) {
      this.#end = { error: undefined };
      return;
    }
    try {
      this.#end = { error: endStreamFromJson(bytes).error };
    } catch (error) {
      this.breakOff(toConnectError(error));
    }
  }
}

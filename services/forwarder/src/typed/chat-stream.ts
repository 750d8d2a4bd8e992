import { create } from "@bufbuild/protobuf";
import type { JsonObject } from "@bufbuild/protobuf";
import type { ChatDelta } from "@switchyard/proto/inference/v1/chat";
import {
  StreamChatResponseSchema,
  StreamEndSchema,
  StreamStartSchema,
} from "@switchyard/proto/inference/v1/inference_service";
import type {
  Head,
  InferResponse,
  StreamChatResponse,
  Trailer,
} from "@switchyard/proto/inference/v1/inference_service";
import { SseFramer } from "@switchyard/providers";
import { toConnectError } from "@switchyard/rpc";
import type { CallContext, ConnectError, Sink } from "@switchyard/rpc";
import { concat } from "../bytes.ts";
import { CallNumbers } from "./call-numbers.ts";
import { readBeside, readDeltas, wholeAsDeltas } from "./chat-answer.ts";
import { filled, parseObject, present, textOf, unreadable } from "./json.ts";
import { providerError } from "./provider-error.ts";
import { headerIn, isSuccess, readAttempts, servedFields } from "./served.ts";

/** A success that does not stream is held up to this (P1); errors are smaller. */
const MOST_BYTES = 8 * 1024 * 1024;

/** Takes an answer's bytes in and tells it in types, event by event. Where the caller is slow, the provider waits. */
export class ChatStream implements Sink<InferResponse> {
  readonly #out: Sink<StreamChatResponse>;
  readonly #inner: CallContext;
  readonly #framer = new SseFramer((event) =>
    this.#take(
      event.dataLines === 1 ? event.bytes.subarray(event.dataStart, event.dataEnd) : event.joinedData(),
    ),
  );
  /** What is no stream: an error, or an answer of a server that does not stream. */
  readonly #held: Uint8Array[] = [];
  #heldBytes = 0;
  readonly #numbers = new CallNumbers();
  /** What events say beside their choices, of each member the last. */
  #beside: JsonObject = {};
  #streams = false;
  #head: Head | undefined;
  #trailer: Trailer | undefined;
  #started = false;
  #over = false;
  #room = true;
  #resume: (() => void) | undefined;

  /** `inner` is ended where the answer can't be told. */
  constructor(out: Sink<StreamChatResponse>, inner: CallContext) {
    this.#out = out;
    this.#inner = inner;
    out.onDrain(() => {
      this.#room = true;
      this.#resume?.();
    });
  }

  send({ part }: InferResponse): boolean {
    if (this.#over) return false;
    try {
      if (part.case === "head") this.#begin(part.value);
      else if (part.case === "chunk") this.#push(part.value);
      else if (part.case === "trailer") this.#trailer = part.value;
    } catch (error) {
      this.fail(toConnectError(error));
    }
    return this.#room;
  }

  end(): void {
    if (this.#over) return;
    try {
      if (this.#streams) this.#framer.finish();
      else this.#readHeld();
      if (this.#trailer === undefined) throw unreadable("it has no end");
      this.#start({});
      this.#finish(this.#trailer);
    } catch (error) {
      this.fail(toConnectError(error));
    }
  }

  fail(error: ConnectError): void {
    if (this.#over) return;
    this.#over = true;
    this.#out.fail(error);
    this.#inner.cancel();
  }

  onDrain(listener: () => void): void {
    this.#resume = listener;
  }

  #begin(head: Head): void {
    this.#head = head;
    const type = headerIn(head, "content-type") ?? "";
    this.#streams = isSuccess(head) && /^text\/event-stream\b/i.test(type);
  }

  #push(bytes: Uint8Array): void {
    if (this.#streams) {
      if (!this.#framer.push(bytes)) throw unreadable("an event is too large");
      return;
    }
    this.#heldBytes += bytes.length;
    if (this.#heldBytes > MOST_BYTES) throw unreadable("it is too large");
    this.#held.push(bytes);
  }

  /** `[DONE]`, comments and what was cut off say nothing. */
  #take(data: Uint8Array): void {
    const event = parseObject(data);
    if (event === undefined) return;
    if ((event["error"] ?? null) !== null) throw providerError(this.#head, event);
    this.#tell(event, readDeltas(event, this.#numbers));
  }

  #readHeld(): void {
    const answer = parseObject(concat(this.#held, this.#heldBytes));
    if (this.#head === undefined || !isSuccess(this.#head)) throw providerError(this.#head, answer);
    if (answer === undefined) throw unreadable("it is no JSON object");
    this.#tell(answer, wholeAsDeltas(answer));
  }

  #tell(source: JsonObject, deltas: readonly ChatDelta[]): void {
    this.#start(source);
    this.#beside = { ...this.#beside, ...readBeside(source) };
    for (const value of deltas) this.#send({ case: "delta", value });
  }

  #start(source: JsonObject): void {
    if (this.#started) return;
    this.#started = true;
    const id = textOf(source["id"]) ?? "";
    const model = textOf(source["model"]) ?? "";
    const attempts = readAttempts(this.#head);
    this.#send({ case: "start", value: create(StreamStartSchema, { id, model, attempts }) });
  }

  #finish(trailer: Trailer): void {
    const { model } = trailer;
    const beside = present({ extra: filled(this.#beside) });
    const value = create(StreamEndSchema, { model, ...servedFields(trailer), ...beside });
    this.#send({ case: "end", value });
    this.#over = true;
    this.#out.end();
    this.#inner.release();
  }

  #send(part: StreamChatResponse["part"]): void {
    const message = create(StreamChatResponseSchema);
    message.part = part;
    if (!this.#out.send(message)) this.#room = false;
  }
}

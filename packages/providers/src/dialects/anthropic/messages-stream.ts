import { readString, readValue } from "../../json/scan.ts";
import { copyRange, encodeUtf8, rangeEquals } from "../../json/text.ts";
import type { SseEvent } from "../../sse/event.ts";
import { SseFramer } from "../../sse/framer.ts";
import { PassThrough } from "../../sse/pass-through.ts";
import type { StreamReader, StreamVerdict } from "../dialect.ts";
import { anthropicUsage, type TokenUsage } from "../usage.ts";
import {
  event as slots,
  hasStopReason,
  hasToken,
  isUsefulBlock,
  message,
  MESSAGE_MODEL,
  MESSAGE_USAGE,
  scanEvent,
  scanMessage,
  USAGE,
} from "./event.ts";

const ERROR_NAME = encodeUtf8("error");
const OPEN_BRACE = 0x7b;
const QUOTE = 0x22;

/**
 * Follows a stream of Anthropic's messages endpoint; its bytes go on as they came (P1). Only `message_stop` is its end: a stream without
 * it was cut, whatever reason to stop it has told (BH-16). The error event and all after it does not go on.
 */
export class MessagesStreamReader implements StreamReader {
  committed = false;
  done = false;
  failure: Uint8Array | undefined;
  model: string | undefined;
  overflowed = false;

  readonly #framer = new SseFramer((event) => this.#take(event));
  readonly #passed = new PassThrough();
  #usageAtStart: Uint8Array | undefined;
  #usageAtEnd: Uint8Array | undefined;
  #sawData = false;
  #ending = false;

  get terminal(): boolean {
    return this.done;
  }

  get usage(): TokenUsage | undefined {
    return anthropicUsage(parsed(this.#usageAtStart), parsed(this.#usageAtEnd));
  }

  push(bytes: Uint8Array, out: Uint8Array[]): void {
    if (this.failure !== undefined) return;
    this.#passed.open(out);
    if (!this.#framer.push(bytes)) this.overflowed = true;
    this.#passed.flush();
  }

  finish(out: Uint8Array[]): StreamVerdict {
    this.#passed.open(out);
    this.#ending = true;
    if (this.failure === undefined) this.#framer.finish();
    this.#passed.flush();
    if (this.failure !== undefined || this.overflowed) return "cut";
    if (!this.#sawData) return "empty";
    if (!this.committed) return this.done ? "empty" : "cut";
    return this.done ? "complete" : "cut";
  }

  #take(event: SseEvent): void {
    if (this.failure !== undefined) return;
    if (event.dataLines === 0) {
      // Of an end that was cut off nothing is lost when it held no data.
      if (!this.#ending) this.#passed.forward(event);
      return;
    }
    if (event.dataLines === 1) {
      this.#takeData(event, event.bytes, event.dataStart, event.dataEnd);
    } else {
      const data = event.joinedData();
      this.#takeData(event, data, 0, data.length);
    }
  }

  #takeData(event: SseEvent, bytes: Uint8Array, start: number, end: number): void {
    const named = rangeEquals(event.bytes, event.nameStart, event.nameEnd, ERROR_NAME);
    const type = scanEvent(bytes, start, end);
    if (named || type === "error") {
      this.failure = copyRange(bytes, start, end);
      return;
    }
    if (type === undefined) {
      // Data that is no JSON and was cut off is no event: a parser would choke on it.
      if (!this.#ending) this.#passed.forward(event);
      return;
    }
    this.#sawData = true;
    this.#read(type, bytes);
    this.#passed.forward(event);
  }

  #read(type: string, bytes: Uint8Array): void {
    switch (type) {
      case "message_start":
        this.#readStart(bytes);
        return;
      case "content_block_start":
        if (!this.committed && isUsefulBlock(bytes)) this.committed = true;
        return;
      case "content_block_delta":
        if (!this.committed && hasToken(bytes)) this.committed = true;
        return;
      case "message_delta":
        if (slots.has(USAGE)) this.#usageAtEnd = copyRange(bytes, slots.start(USAGE), slots.end(USAGE));
        if (hasStopReason(bytes)) this.committed = true;
        return;
      case "message_stop":
        this.done = true;
        return;
      default:
    }
  }

  #readStart(bytes: Uint8Array): void {
    if (!scanMessage(bytes)) return;
    if (message.has(MESSAGE_MODEL) && bytes[message.start(MESSAGE_MODEL)] === QUOTE) {
      this.model = readString(bytes, message.start(MESSAGE_MODEL), message.end(MESSAGE_MODEL));
    }
    if (message.has(MESSAGE_USAGE) && bytes[message.start(MESSAGE_USAGE)] === OPEN_BRACE) {
      this.#usageAtStart = copyRange(bytes, message.start(MESSAGE_USAGE), message.end(MESSAGE_USAGE));
    }
  }
}

function parsed(usage: Uint8Array | undefined): unknown {
  return usage === undefined ? undefined : readValue(usage, 0, usage.length);
}

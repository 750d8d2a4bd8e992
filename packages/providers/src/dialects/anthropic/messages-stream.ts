import { readString, readValue } from "../../json/scan.ts";
import { copyRange } from "../../json/text.ts";
import type { SseEvent } from "../../sse/event.ts";
import { PassingStream } from "../passing-stream.ts";
import { anthropicUsage } from "../usage.ts";
import type { TokenUsage } from "../../neutral/usage.ts";
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

const OPEN_BRACE = 0x7b;
const QUOTE = 0x22;

/**
 * Follows a stream of Anthropic's messages endpoint; its bytes go on as they came (P1). Only `message_stop` is its end: a stream without
 * it was cut, whatever reason to stop it has told (BH-16). The error event and all after it does not go on.
 */
export class MessagesStreamReader extends PassingStream {
  #usageAtStart: Uint8Array | undefined;
  #usageAtEnd: Uint8Array | undefined;

  get usage(): TokenUsage | undefined {
    return anthropicUsage(parsed(this.#usageAtStart), parsed(this.#usageAtEnd));
  }

  protected takeData(event: SseEvent, bytes: Uint8Array, start: number, end: number): void {
    const type = scanEvent(bytes, start, end);
    if (event.isNamedError || type === "error") {
      this.failure = copyRange(bytes, start, end);
      return;
    }
    if (type === undefined) {
      // Data that is no JSON and was cut off is no event: a parser would choke on it.
      if (!this.ending) this.passed.forward(event);
      return;
    }
    this.sawData = true;
    this.#read(type, bytes);
    this.passed.forward(event);
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
        this.terminal = true;
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

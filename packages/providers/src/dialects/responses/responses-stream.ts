import { isFilled } from "../../json/filled.ts";
import { KeyTable } from "../../json/key-table.ts";
import { KeySlots, readString, scanObject } from "../../json/scan.ts";
import { skipSpace } from "../../json/skip.ts";
import { copyRange, decodeUtf8, encodeUtf8, rangeEquals } from "../../json/text.ts";
import type { SseEvent } from "../../sse/event.ts";
import { PassingStream } from "../passing-stream.ts";
import type { TokenUsage } from "../../neutral/usage.ts";
import { readResponseObject } from "./response-object.ts";

const EVENT_KEYS = new KeyTable(["type", "sequence_number", "response", "item", "delta", "text", "error"]);
const TYPE = 0;
const SEQUENCE = 1;
const RESPONSE = 2;
const ITEM = 3;
const DELTA = 4;
const TEXT = 5;
const ERROR = 6;
const ITEM_KEYS = new KeyTable(["type"]);

const slots = new KeySlots(EVENT_KEYS);
const itemSlots = new KeySlots(ITEM_KEYS);

const DONE = encodeUtf8("[DONE]");
const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;

/** Items that only announce what their deltas will say. */
const ANNOUNCED: ReadonlySet<string | undefined> = new Set<string | undefined>([
  "message",
  "reasoning",
  undefined,
]);

/**
 * Follows the stream of a response as it passes through (P1). `response.created` and its like do not commit; what an item says does, and so
 * does the end of the response (E6). `response.failed` and `error` do not go on: they are for the forwarder to fail over or to report.
 */
export class ResponsesStreamReader extends PassingStream {
  usage: TokenUsage | undefined;
  keeps: readonly string[] = [];
  /** Number of the event that would come next. */
  sequence = 0;

  readonly #replays: boolean;

  /** `replays`: the stream tells again what was made before, and maybe failed then; it was counted then too. */
  constructor(options: { readonly replays: boolean } = { replays: false }) {
    super();
    this.#replays = options.replays;
  }

  protected takeData(event: SseEvent, bytes: Uint8Array, start: number, end: number): void {
    const open = skipSpace(bytes, start, end);
    const close = scanObject(bytes, open, end, EVENT_KEYS, slots);
    if (close < 0 || close > end || skipSpace(bytes, close, end) !== end) {
      // OpenRouter ends with chat's word, which says nothing here. What was cut off is no event: a parser would choke on it.
      const isDone = rangeEquals(bytes, open, open + DONE.length, DONE);
      if (isDone || !this.ending) this.passed.forward(event);
      return;
    }
    this.sawData = true;
    const type = text(bytes, slots, TYPE);
    if (
      event.isNamedError ||
      type === "error" ||
      (type === "response.failed" && !this.#replays) ||
      (type === undefined && says(bytes, ERROR))
    ) {
      this.failure = copyRange(bytes, start, end);
      return;
    }
    this.#count(bytes);
    if (type !== undefined) this.#read(type, bytes);
    this.passed.forward(event);
  }

  #read(type: string, bytes: Uint8Array): void {
    switch (type) {
      case "response.created":
      case "response.queued":
      case "response.in_progress":
        this.#readResponse(bytes);
        return;
      case "response.completed":
      case "response.incomplete":
      case "response.cancelled":
      case "response.failed":
        this.#readResponse(bytes);
        this.committed = true;
        this.terminal = true;
        this.done = true;
        return;
      case "response.output_item.added":
        if (!ANNOUNCED.has(itemType(bytes))) this.committed = true;
        return;
      case "response.output_item.done":
      case "response.image_generation_call.partial_image":
        this.committed = true;
        return;
      default:
        if (says(bytes, DELTA) || says(bytes, TEXT)) this.committed = true;
    }
  }

  #readResponse(bytes: Uint8Array): void {
    const reading = slots.has(RESPONSE)
      ? readResponseObject(bytes, slots.start(RESPONSE), slots.end(RESPONSE))
      : undefined;
    if (reading === undefined) return;
    this.model = reading.model ?? this.model;
    if (this.#replays) return;
    this.usage = reading.usage ?? this.usage;
    this.keeps = reading.keeps;
  }

  #count(bytes: Uint8Array): void {
    if (!slots.has(SEQUENCE)) return;
    const number = Number(decodeUtf8(bytes, slots.start(SEQUENCE), slots.end(SEQUENCE)));
    if (Number.isSafeInteger(number)) this.sequence = number + 1;
  }
}

function says(bytes: Uint8Array, key: number): boolean {
  return isFilled(bytes, slots, key);
}

function itemType(bytes: Uint8Array): string | undefined {
  if (!slots.has(ITEM) || bytes[slots.start(ITEM)] !== OPEN_BRACE) return undefined;
  scanObject(bytes, slots.start(ITEM), slots.end(ITEM), ITEM_KEYS, itemSlots);
  return text(bytes, itemSlots, 0);
}

function text(bytes: Uint8Array, from: KeySlots, key: number): string | undefined {
  return from.has(key) && bytes[from.start(key)] === QUOTE
    ? readString(bytes, from.start(key), from.end(key))
    : undefined;
}

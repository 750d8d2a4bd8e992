import { isFilled } from "../../json/filled.ts";
import { copyRange, encodeUtf8, rangeEquals, trimEnd } from "../../json/text.ts";
import { readString } from "../../json/scan.ts";
import { skipSpace } from "../../json/skip.ts";
import { type Edit, splice } from "../../json/splice.ts";
import type { SseEvent } from "../../sse/event.ts";
import { PassingStream } from "../passing-stream.ts";
import { readOpenAiUsage } from "../usage.ts";
import type { TokenUsage } from "../../neutral/usage.ts";
import {
  CHOICES,
  type ChoicesReading,
  chunk,
  chunkUsage,
  isChatChunk,
  isErrorChunk,
  isObject,
  MODEL,
  readChoices,
  scanChunk,
  USAGE,
} from "./chunk.ts";

/** How a stream is edited on its way. */
export interface ChatStreamOptions {
  /** Take out the usage chunk, which the caller did not ask for (P4). */
  readonly stripUsage: boolean;
}

const DONE = encodeUtf8("[DONE]");
const EMPTY_LIST = encodeUtf8("[]");
const OPEN_BRACKET = 0x5b;

/**
 * Follows a chat completion's stream: which bytes go on to the caller, and what they mean for the attempt. Bytes go on as they came
 * (P1) but for `choices` that is null or missing, which becomes `[]`, and the usage chunk where it is stripped. The event of an
 * error inside the stream, and all after it, does not go on: it is for the forwarder to fail over or to report it.
 */
export class ChatStreamReader extends PassingStream {
  readonly #stripUsage: boolean;
  readonly #reading: ChoicesReading = { useful: false, finished: false, usageStart: 0, usageEnd: 0 };
  #usage: Uint8Array | undefined;

  constructor(options: ChatStreamOptions) {
    super();
    this.#stripUsage = options.stripUsage;
  }

  get usage(): TokenUsage | undefined {
    return this.#usage === undefined ? undefined : readOpenAiUsage(this.#usage, 0, this.#usage.length);
  }

  protected takeData(event: SseEvent, bytes: Uint8Array, start: number, end: number): void {
    if (event.isNamedError) {
      this.failure = copyRange(bytes, start, end);
      return;
    }
    if (!scanChunk(bytes, start, end)) {
      const isDone = rangeEquals(bytes, start, trimEnd(bytes, start, end), DONE);
      if (isDone) {
        this.done = true;
        this.terminal = true;
        this.sawData = true;
      }
      // Data that is no JSON and was cut off is no event: a parser would choke on it.
      if (isDone || !this.ending) this.passed.forward(event);
      return;
    }
    this.sawData = true;
    if (isErrorChunk(bytes)) {
      this.failure = copyRange(bytes, start, end);
      return;
    }
    this.#readChunk(event, bytes, start);
  }

  #readChunk(event: SseEvent, bytes: Uint8Array, start: number): void {
    if (this.model === undefined && isFilled(bytes, chunk, MODEL) && bytes[chunk.start(MODEL)] === 0x22) {
      this.model = readString(bytes, chunk.start(MODEL), chunk.end(MODEL));
    }
    const hasUsage = isObject(bytes, chunk, USAGE);
    const usage = chunkUsage(bytes);
    if (usage !== undefined) this.#usage = usage;

    if (isFilled(bytes, chunk, CHOICES)) {
      this.#readChoices(bytes, hasUsage);
      this.passed.forward(event);
    } else if (hasUsage && this.#stripUsage) {
      this.passed.flush();
    } else if (chunk.has(CHOICES) ? bytes[chunk.start(CHOICES)] === OPEN_BRACKET : !isChatChunk(bytes)) {
      this.passed.forward(event);
    } else {
      this.#forwardWithChoices(event, bytes, start);
    }
  }

  #readChoices(bytes: Uint8Array, hasUsage: boolean): void {
    if (bytes[chunk.start(CHOICES)] !== OPEN_BRACKET) return;
    const reading = this.#reading;
    readChoices(bytes, reading);
    if (reading.useful) this.committed = true;
    if (reading.finished) this.terminal = true;
    if (!hasUsage && reading.usageStart > 0) {
      this.#usage = copyRange(bytes, reading.usageStart, reading.usageEnd);
    }
  }

  /** BH-15: gives the chunk an empty list of choices where it has null or nothing. */
  #forwardWithChoices(event: SseEvent, bytes: Uint8Array, start: number): void {
    const inPlace = bytes === event.bytes;
    const from = inPlace ? event.start : 0;
    const edit = choicesEdit(bytes, start, from);
    if (inPlace) {
      this.passed.write(splice(bytes.subarray(event.start, event.end), [edit]));
      return;
    }
    // Line feeds can only stand between the tokens of valid JSON, so blanks do as well.
    const json = splice(bytes, [edit]).map((byte) => (byte === 0x0a ? 0x20 : byte));
    this.passed.write(encodeUtf8("data: "), json, encodeUtf8("\n\n"));
  }
}

function choicesEdit(bytes: Uint8Array, start: number, from: number): Edit {
  if (chunk.has(CHOICES)) {
    return { start: chunk.start(CHOICES) - from, end: chunk.end(CHOICES) - from, replacement: EMPTY_LIST };
  }
  // A chunk is told by its keys, so it has some and the comma is right.
  const at = skipSpace(bytes, start, bytes.length) + 1 - from;
  return { start: at, end: at, replacement: encodeUtf8('"choices":[],') };
}

/** A reader for one stream of chat completion chunks. */
export function createChatStreamReader(options: ChatStreamOptions): ChatStreamReader {
  return new ChatStreamReader(options);
}

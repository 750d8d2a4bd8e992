import { within } from "./within.ts";

/** One dispatched event. `event` is undefined where the stream named none. */
export interface SseEvent {
  readonly event: string | undefined;
  readonly data: string;
  readonly id?: string;
  /** Arrival of its blank line, `performance.now()` ms; only from `collectSse`. */
  readonly at?: number;
}

/** A whole stream, read to its end or its failure. */
export interface CollectedSse {
  readonly events: readonly SseEvent[];
  readonly comments: readonly string[];
  readonly bytes: Buffer;
  /** Joined chat `delta.content`. */
  readonly text: string;
  /** A `[DONE]` event came. */
  readonly done: boolean;
  /** The `error` objects of events that carry one, in order. */
  readonly errors: readonly unknown[];
  /** What the transport failed with, if the stream was cut. */
  readonly failure?: unknown;
}

/** Line parser of the event-stream format: LF, CR or CRLF, comments, one optional space after the colon. */
export class SseParser {
  readonly comments: string[] = [];
  readonly #decoder = new TextDecoder();
  #rest = "";
  #event: string | undefined;
  #id: string | undefined;
  #data: string[] = [];

  /** The events that these bytes complete. */
  push(bytes: Uint8Array): SseEvent[] {
    this.#rest += this.#decoder.decode(bytes, { stream: true });
    const events: SseEvent[] = [];
    for (;;) {
      const match = /\r\n|\n|\r(?!$)/.exec(this.#rest);
      if (!match) return events;
      const line = this.#rest.slice(0, match.index);
      this.#rest = this.#rest.slice(match.index + match[0].length);
      const event = this.#line(line);
      if (event) events.push(event);
    }
  }

  #line(line: string): SseEvent | undefined {
    if (line === "") return this.#dispatch();
    if (line.startsWith(":")) {
      this.comments.push(line.slice(1).trim());
      return undefined;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id") this.#id = value;
    return undefined;
  }

  #dispatch(): SseEvent | undefined {
    const event = this.#data.length === 0 ? undefined : this.#take();
    this.#event = undefined;
    this.#data = [];
    return event;
  }

  #take(): SseEvent {
    const id = this.#id;
    return { event: this.#event, data: this.#data.join("\n"), ...(id !== undefined && { id }) };
  }
}

/** The events of a finished body. */
export function parseSse(bytes: Uint8Array | string): SseEvent[] {
  return new SseParser().push(Buffer.from(bytes));
}

type StreamSource = { readonly body: AsyncIterable<Uint8Array> | null } | AsyncIterable<Uint8Array>;

/**
 * Reads a fetch `Response` (or any byte stream) to its end, or until `until` says enough.
 * A stream that breaks off does not throw: `failure` has the reason. Throws after `withinMs` (default 15 s).
 */
export async function collectSse(
  source: StreamSource,
  options: { readonly withinMs?: number; readonly until?: (events: readonly SseEvent[]) => boolean } = {},
): Promise<CollectedSse> {
  const parser = new SseParser();
  const chunks: Uint8Array[] = [];
  const events: SseEvent[] = [];
  let failure: unknown;
  const read = async () => {
    for await (const chunk of streamOf(source)) {
      chunks.push(chunk);
      const at = performance.now();
      for (const event of parser.push(chunk)) events.push({ ...event, at });
      if (options.until?.(events) === true) return;
    }
  };
  const reading = read().catch((error: unknown) => {
    failure = error ?? new Error("stream failed");
  });
  await within(options.withinMs ?? 15_000, reading, () => `stream still open after ${events.length} events`);
  return {
    events,
    comments: parser.comments,
    bytes: Buffer.concat(chunks),
    ...summarize(events),
    ...(failure !== undefined && { failure }),
  };
}

/** Joined chat content, in-band errors and the `[DONE]` mark of a list of events. */
export function summarize(events: readonly SseEvent[]): Pick<CollectedSse, "text" | "done" | "errors"> {
  const values = events.filter(({ data }) => data !== "[DONE]").map(({ data }) => parsed(data));
  const errors = values.map((value) => member(value, "error")).filter((error) => error !== undefined);
  const text = values.map(deltaContent).join("");
  return { text, errors, done: events.some(({ data }) => data === "[DONE]") };
}

function deltaContent(value: unknown): string {
  const choices = member(value, "choices");
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const content = member(member(first, "delta"), "content");
  return typeof content === "string" ? content : "";
}

function member(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function streamOf(source: StreamSource): AsyncIterable<Uint8Array> {
  if (!("body" in source)) return source;
  if (source.body === null) throw new Error("response without a body");
  return source.body;
}

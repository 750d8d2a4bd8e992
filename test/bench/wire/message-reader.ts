const HEAD_END = Buffer.from("\r\n\r\n");
const CR = 13;
const LF = 10;

/** What a reader tells about each HTTP/1.1 message; bodies are counted, never kept. */
export interface MessageEvents {
  /** Start line and header lines, as latin1 text without the empty line. */
  onHead(head: string): void;
  /** Body bytes decoded so far, after each read that brought some. */
  onBody?(bodyBytes: number): void;
  onEnd(bodyBytes: number): void;
}

type State = "head" | "length" | "chunk-size" | "chunk-data" | "chunk-end" | "trailer";

/** Finds the ends of HTTP/1.1 messages on one connection. A message that names no length has no body. */
export class MessageReader {
  readonly #events: MessageEvents;
  #state: State = "head";
  #kept: Buffer | undefined;
  #left = 0;
  #body = 0;
  #line = "";

  constructor(events: MessageEvents) {
    this.#events = events;
  }

  /** True between messages. */
  get idle(): boolean {
    return this.#state === "head" && this.#kept === undefined;
  }

  push(data: Buffer): void {
    let bytes = data;
    if (this.#kept !== undefined) {
      bytes = Buffer.concat([this.#kept, data]);
      this.#kept = undefined;
    }
    const bodyBefore = this.#body;
    let at = 0;
    while (at < bytes.length) {
      if (this.#state === "head") at = this.#readHead(bytes, at);
      else if (this.#state === "length" || this.#state === "chunk-data") at = this.#skip(bytes, at);
      else at = this.#readLine(bytes, at);
    }
    if (this.#state !== "head" && this.#body !== bodyBefore) this.#events.onBody?.(this.#body);
  }

  #readHead(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(HEAD_END, at);
    if (end < 0) {
      this.#kept = bytes.subarray(at);
      return bytes.length;
    }
    const head = bytes.toString("latin1", at, end);
    this.#body = 0;
    this.#events.onHead(head);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head);
    if (length !== null) {
      this.#left = Number(length[1]);
      if (this.#left === 0) this.#end();
      else this.#state = "length";
    } else if (/\r\ntransfer-encoding: *chunked/i.test(head)) this.#state = "chunk-size";
    else this.#end();
    return end + HEAD_END.length;
  }

  #skip(bytes: Buffer, at: number): number {
    const taken = Math.min(this.#left, bytes.length - at);
    this.#left -= taken;
    this.#body += taken;
    if (this.#left === 0) {
      if (this.#state === "length") this.#end();
      else this.#state = "chunk-end";
    }
    return at + taken;
  }

  #readLine(bytes: Buffer, at: number): number {
    const newline = bytes.indexOf(LF, at);
    const end = newline < 0 ? bytes.length : newline;
    this.#line += bytes.toString("latin1", at, end > at && bytes[end - 1] === CR ? end - 1 : end);
    if (newline < 0) return bytes.length;
    const line = this.#line;
    this.#line = "";
    if (this.#state === "chunk-end") this.#state = "chunk-size";
    else if (this.#state === "trailer") {
      if (line === "") this.#end();
    } else {
      this.#left = Number.parseInt(line, 16);
      if (Number.isNaN(this.#left)) throw new Error(`no chunk size: ${JSON.stringify(line.slice(0, 40))}`);
      this.#state = this.#left === 0 ? "trailer" : "chunk-data";
    }
    return newline + 1;
  }

  #end(): void {
    this.#state = "head";
    this.#events.onEnd(this.#body);
  }
}

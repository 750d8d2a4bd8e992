import { connect, type Socket } from "node:net";
import {
  ChunkedDecoder,
  contentLength,
  type Flushable,
  flushThisTurn,
  isFarewell,
  maxHeadBytes,
  parseResponseHead,
  type Part,
  type ResponseHead,
  writeParts,
} from "@switchyard/http1";

/** How far an exchange had come when its connection was lost. */
export type Loss = "unreached" | "unsent" | "silent" | "broken";

/** One request and its answer. Told exactly one of `onEnd` and `onLost`, unless it aborted. */
export interface Exchange {
  onHead(head: ResponseHead): void;
  onData(bytes: Buffer): void;
  onEnd(): void;
  /**
   * Unreached: never connected. Unsent: no server processed any of it, because no byte of it was written or its server
   * said so. Silent: sent, perhaps, and no byte came back. Broken: the answer had begun.
   */
  onLost(loss: Loss, why: string): void;
}

export interface ConnectionOwner {
  /** All exchanges are answered and the connection can take another. */
  onIdle(connection: ClientConnection): void;
  /** The server takes no more requests here, and likely nowhere. `onClosed` follows. */
  onLeaving(connection: ClientConnection): void;
  onClosed(connection: ClientConnection): void;
}

/** Hears of nothing. */
export const discard: Exchange = { onHead() {}, onData() {}, onEnd() {}, onLost() {} };

/** One HTTP/1.1 connection to a server: requests go out in order and answers come back in order. */
export class ClientConnection implements Flushable {
  idleSince = 0;
  /** A byte came since someone last looked, who sets it back. */
  heard = false;
  /** What the server says it keeps an idle connection for. */
  keepAliveMs = Number.POSITIVE_INFINITY;
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #exchanges: Exchange[] = [];
  #outgoing: Part[] = [];
  /** How many of the exchanges its server may have processed: those that were written. */
  #written = 0;
  #connected = false;
  #closed = false;
  #why = "connection closed";
  #pending: Buffer | undefined;
  #started = false;
  #body: "none" | "length" | "chunked" | "close" = "none";
  #left = 0;
  #chunked = new ChunkedDecoder();
  #last = false;
  readonly #emit = (data: Buffer): void => this.#exchanges[0]?.onData(data);

  constructor(host: string, port: number, connectTimeoutMs: number, owner: ConnectionOwner) {
    this.#owner = owner;
    const socket = connect({ host, port, noDelay: true });
    this.#socket = socket;
    const timer = setTimeout(() => this.destroy("connect timed out"), connectTimeoutMs);
    socket.once("connect", () => {
      clearTimeout(timer);
      this.#connected = true;
      this.flush();
    });
    socket.on("data", (bytes: Buffer) => this.#read(bytes));
    socket.on("end", () => this.#onEnd());
    socket.on("error", (error) => {
      this.#why = "code" in error && typeof error.code === "string" ? error.code : "socket error";
    });
    socket.once("close", () => {
      clearTimeout(timer);
      this.#close();
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Exchanges without a complete answer. */
  get load(): number {
    return this.#exchanges.length;
  }

  send(parts: readonly Part[], exchange: Exchange): void {
    this.#exchanges.push(exchange);
    if (this.#outgoing.length === 0 && this.#connected) flushThisTurn(this);
    for (const part of parts) this.#outgoing.push(part);
  }

  flush(): void {
    if (this.#outgoing.length === 0 || this.#closed || !this.#connected || this.#last) return;
    const parts = this.#outgoing;
    this.#outgoing = [];
    this.#written = this.#exchanges.length;
    writeParts(this.#socket, parts);
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /**
   * The exchange hears nothing more. Alone on its connection, the connection goes with it, which is how the server
   * learns; otherwise its answer is dropped when it comes. `stuck`: whatever waits behind it should not.
   */
  abort(exchange: Exchange, stuck: boolean): void {
    const at = this.#exchanges.indexOf(exchange);
    if (at < 0) return;
    this.#exchanges[at] = discard;
    if (this.#exchanges.length === 1 || (stuck && at === 0 && this.#written > 0)) this.destroy("aborted");
  }

  destroy(why: string): void {
    this.#why = why;
    this.#socket.destroy();
    this.#close();
  }

  #onEnd(): void {
    if (this.#body === "close" && this.#exchanges.length > 0) this.#finish();
    this.destroy("closed by the server");
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#outgoing = [];
    const lost = this.#exchanges.splice(0);
    this.#owner.onClosed(this);
    for (let i = 0; i < lost.length; i += 1) (lost[i] as Exchange).onLost(this.#lossOf(i), this.#why);
  }

  #lossOf(index: number): Loss {
    if (!this.#connected) return "unreached";
    if (index >= this.#written) return "unsent";
    return index === 0 && this.#started ? "broken" : "silent";
  }

  #read(bytes: Buffer): void {
    this.heard = true;
    let data = this.#pending === undefined ? bytes : Buffer.concat([this.#pending, bytes]);
    this.#pending = undefined;
    while (data.length > 0 && !this.#closed) {
      const used = this.#step(data);
      if (used < 0) return this.destroy("malformed response");
      if (used === 0) {
        this.#pending = data;
        return;
      }
      data = data.subarray(used);
    }
  }

  /** Reads one head or one piece of a body; says how many bytes, 0 for more needed, -1 for malformed. */
  #step(data: Buffer): number {
    switch (this.#body) {
      case "none":
        return this.#readHead(data);
      case "length": {
        const size = Math.min(this.#left, data.length);
        this.#left -= size;
        this.#emit(size === data.length ? data : data.subarray(0, size));
        if (this.#left === 0) this.#finish();
        return size;
      }
      case "chunked": {
        const used = this.#chunked.push(data, 0, this.#emit);
        if (used >= 0 && this.#chunked.done) this.#finish();
        return used;
      }
      case "close":
        this.#emit(data);
        return data.length;
    }
  }

  #readHead(data: Buffer): number {
    const end = data.indexOf("\r\n\r\n");
    const head = end < 0 ? undefined : parseResponseHead(data.toString("latin1", 0, end));
    if (head !== undefined && isFarewell(head)) return this.#leave(data.length);
    const exchange = this.#exchanges[0];
    // An answer to nothing would be taken for the next one's.
    if (exchange === undefined || this.#written === 0) return -1;
    this.#started = true;
    if (end < 0) return data.length > maxHeadBytes ? -1 : 0;
    if (head === undefined || head.minor === 0) return -1;
    const used = end + 4;
    if (head.status < 200) return head.status === 101 ? -1 : used;
    if (!this.#expectBody(head)) return -1;
    exchange.onHead(head);
    if (this.#last) this.#owner.onLeaving(this);
    if (this.#body === "length" && this.#left === 0) this.#finish();
    return used;
  }

  #expectBody(head: ResponseHead): boolean {
    const { fields, status } = head;
    const coding = fields.get("transfer-encoding");
    const length = contentLength(fields);
    this.#last = fields.get("connection")?.toLowerCase() === "close";
    // RFC 9112, 9.6: a server that said so must not process what follows.
    if (this.#last) this.#written = 1;
    const hint = /timeout=(\d{1,6})/.exec(fields.get("keep-alive") ?? "");
    if (hint !== null) this.keepAliveMs = Number(hint[1]) * 1000 - 1000;
    if (length === "bad" || (coding !== undefined && length !== undefined)) return false;
    if (coding !== undefined) {
      if (coding.toLowerCase() !== "chunked") return false;
      this.#body = "chunked";
      this.#chunked = new ChunkedDecoder();
      return true;
    }
    const none = status === 204 || status === 304;
    this.#body = length === undefined && !none ? "close" : "length";
    this.#left = none ? 0 : (length ?? 0);
    if (this.#body === "close") this.#last = true;
    return true;
  }

  #leave(size: number): number {
    this.#written = 0;
    this.#owner.onLeaving(this);
    this.destroy("the server leaves");
    return size;
  }

  #finish(): void {
    if (this.#closed) return;
    this.#body = "none";
    this.#started = false;
    const exchange = this.#exchanges.shift();
    this.#written -= 1;
    // First, so that what the exchange starts next can find this connection.
    if (this.#last) this.destroy("closed by the server");
    else if (this.#exchanges.length === 0) {
      this.#socket.resume();
      this.#owner.onIdle(this);
    }
    exchange?.onEnd();
  }
}

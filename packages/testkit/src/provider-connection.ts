import type { Socket } from "node:net";

import { writeAnswer } from "./answer-writer.ts";
import type { Answer } from "./answers.ts";
import { type ClosedHow, RecordedCall } from "./recorded-call.ts";
import { type HeaderPair, headerOf, type WireHead, WireReader } from "./wire-reader.ts";

/** What a connection asks of its provider. */
export interface ConnectionHost {
  readonly flushMs: number;
  keepAliveMs(): number | undefined;
  /** A head has come; an answer here is given at once, before the body is read. */
  onHead(call: RecordedCall): Answer | undefined;
  /** A request has come in whole. */
  onReceived(call: RecordedCall): void;
  choose(call: RecordedCall, signal: AbortSignal): Promise<Answer>;
  /** The script itself is at fault (an answer function threw): the provider tells the test. */
  onFault(error: unknown): void;
}

interface Pending {
  readonly call: RecordedCall;
  readonly received: PromiseWithResolvers<void>;
  readonly early: Answer | undefined;
  readonly body: Buffer[];
}

/** One accepted socket: reads requests, answers them one after another, notes how it ended. */
export class ProviderConnection {
  readonly #socket: Socket;
  readonly #number: number;
  readonly #host: ConnectionHost;
  readonly #gone = new AbortController();
  readonly #calls: RecordedCall[] = [];
  readonly #reader: WireReader;
  #current: Pending | undefined;
  #turn: Promise<void> = Promise.resolve();
  #open = 0;
  #closing: ClosedHow | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(socket: Socket, number: number, host: ConnectionHost) {
    this.#socket = socket;
    this.#number = number;
    this.#host = host;
    this.#reader = new WireReader("request", {
      onHead: (head) => this.#onHead(head),
      onBody: (chunk) => this.#current?.body.push(chunk),
      onEnd: (trailers) => this.#onEnd(trailers),
    });
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.#onData(chunk));
    socket.on("end", () => {
      this.#closing ??= "client";
      socket.destroy();
    });
    socket.on("error", () => {
      // "close" follows and carries the news
    });
    socket.on("close", () => this.#onClose());
  }

  /** Closes from the provider's side. */
  close(how: "end" | "reset"): void {
    this.#closing ??= how;
    if (how === "reset") this.#socket.resetAndDestroy();
    else this.#socket.destroy();
  }

  #onData(chunk: Buffer): void {
    clearTimeout(this.#idle);
    if (this.#closing === "end") {
      // The peer wrote into a socket that was already closed here: a kernel answers that with a reset.
      this.#socket.resetAndDestroy();
      return;
    }
    try {
      this.#reader.push(chunk);
    } catch {
      this.close("reset");
    }
  }

  #onHead({ startLine, headers }: WireHead): { hasBody: boolean } {
    const call = new RecordedCall(startLine, headers, this.#number, this.#calls.length + 1);
    this.#calls.push(call);
    this.#open += 1;
    const early = this.#host.onHead(call);
    const pending = { call, early, body: [], received: Promise.withResolvers<void>() };
    this.#current = pending;
    if (!early && headerOf(headers, "expect")?.toLowerCase() === "100-continue") {
      this.#socket.write("HTTP/1.1 100 Continue\r\n\r\n");
    }
    this.#turn = this.#turn.then(() => this.#serve(pending));
    return { hasBody: true };
  }

  #onEnd(trailers: readonly HeaderPair[]): void {
    const pending = this.#current;
    if (!pending) return;
    this.#current = undefined;
    pending.call.body = Buffer.concat(pending.body);
    pending.call.trailers = trailers;
    pending.call.received = true;
    pending.received.resolve();
    this.#host.onReceived(pending.call);
  }

  async #serve({ call, early, received }: Pending): Promise<void> {
    const { signal } = this.#gone;
    try {
      if (!early) await received.promise;
      if (signal.aborted) return;
      const answer = early ?? (await this.#choose(call));
      const afterwards = await writeAnswer(answer, {
        socket: this.#socket,
        signal,
        flushMs: this.#host.flushMs,
        headOnly: call.method === "HEAD",
        onAccepted: (bytes) => {
          call.bytesAccepted += bytes;
        },
      });
      if (afterwards === "reset") this.close("reset");
      else this.#answered(call, afterwards);
    } catch {
      // Only a closed socket makes the writer fail; anything else must not leave the caller waiting.
      if (!signal.aborted) this.#socket.destroy();
    }
  }

  async #choose(call: RecordedCall): Promise<Answer> {
    try {
      return await this.#host.choose(call, this.#gone.signal);
    } catch (error) {
      if (!this.#gone.signal.aborted) {
        this.#host.onFault(error);
        this.close("reset");
      }
      throw error;
    }
  }

  #answered(call: RecordedCall, afterwards: "keep" | "end"): void {
    call.answeredAt = performance.now();
    this.#open -= 1;
    if (afterwards === "end") this.#endInOrder();
    else if (this.#open === 0) this.#startIdle(this.#host.keepAliveMs());
  }

  #startIdle(ms: number | undefined): void {
    if (ms !== undefined) this.#idle = setTimeout(() => this.#endInOrder(), ms);
  }

  #endInOrder(): void {
    this.#closing ??= "end";
    this.#socket.end();
  }

  #onClose(): void {
    clearTimeout(this.#idle);
    const closedAt = performance.now();
    for (const call of this.#calls) {
      call.closedAt = closedAt;
      call.closedHow = this.#closing ?? "client";
    }
    this.#gone.abort();
    this.#current?.received.resolve();
  }
}

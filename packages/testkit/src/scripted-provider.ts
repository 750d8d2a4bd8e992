import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";

import type { Answer } from "./answers.ts";
import { OK } from "./dialects.ts";
import { ProviderConnection } from "./provider-connection.ts";
import type { RecordedCall } from "./recorded-call.ts";
import { within } from "./within.ts";

/** An answer, or a function of the call that makes one. */
export type Reply = Answer | ((call: RecordedCall) => Answer | Promise<Answer>);

export interface ScriptedProviderOptions {
  /** Milliseconds of `‖`. Default 30. */
  readonly flushMs?: number;
  /** Closes a connection that long idle after an answer. Default: never. */
  readonly keepAliveMs?: number;
  /** Fixed port; default any free one. */
  readonly port?: number;
}

/** Answers held back until released. */
export interface Hold {
  /** Calls that wait now. */
  readonly waiting: number;
  /** Resolves when that many calls wait. */
  waitFor(calls: number, withinMs?: number): Promise<void>;
  /** Lets all of them answer, in order of arrival, and ends the hold. */
  release(): void;
}

const DEFAULT_WAIT_MS = 5000;

/**
 * A mock upstream on 127.0.0.1 with control of every byte. It answers `OK("ok")` until told otherwise.
 * Calls are logged when their head arrives; `waitForCalls` counts those received whole.
 */
export class ScriptedProvider {
  readonly #options: ScriptedProviderOptions;
  readonly #connections = new Set<ProviderConnection>();
  readonly #watchers = new Set<() => void>();
  readonly #faults: unknown[] = [];
  #server: Server | undefined;
  #port = 0;
  #calls: RecordedCall[] = [];
  #accepted = 0;
  #replies: Reply[] = [OK("ok")];
  #onHeaders: ((call: RecordedCall) => Answer | undefined) | undefined;
  #hold: HeldAnswers | undefined;

  /** Idle close after an answer, in ms; may be changed at any time. */
  keepAliveMs: number | undefined;

  constructor(options: ScriptedProviderOptions = {}) {
    this.#options = options;
    this.#port = options.port ?? 0;
    this.keepAliveMs = options.keepAliveMs;
  }

  /** Base address without a trailing slash. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  get calls(): readonly RecordedCall[] {
    return this.#calls;
  }

  /** TCP connections accepted since creation. */
  get connectionsAccepted(): number {
    return this.#accepted;
  }

  /** TCP connections open now. */
  get connectionsOpen(): number {
    return this.#connections.size;
  }

  /** Answers in this order, one per call; the last repeats. Replaces what was there. */
  script(replies: readonly Reply[]): void {
    if (replies.length === 0) throw new Error("a script needs at least one answer");
    this.#replies = [...replies];
  }

  /** The same reply to every call from now on. */
  answer(reply: Reply): void {
    this.#replies = [reply];
  }

  /** Called when a request's head is in: an answer is given before the body is read (BH-40 X). */
  onHeaders(choose: ((call: RecordedCall) => Answer | undefined) | undefined): void {
    this.#onHeaders = choose;
  }

  /** Holds answers from now on; with `calls`, releases by itself when that many wait (BH-01). */
  hold(calls?: number): Hold {
    this.#hold?.release();
    this.#hold = new HeldAnswers(calls);
    return this.#hold;
  }

  /** Forgets the log. */
  clearCalls(): void {
    this.#calls = [];
  }

  /** Resolves with the log once `count` calls have come in whole. */
  async waitForCalls(count: number, withinMs = DEFAULT_WAIT_MS): Promise<readonly RecordedCall[]> {
    const received = () => this.#calls.filter((call) => call.received).length;
    const reached = Promise.withResolvers<void>();
    const watch = () => {
      if (received() >= count) reached.resolve();
    };
    this.#watchers.add(watch);
    watch();
    try {
      await within(withinMs, reached.promise, () => `${received()} of ${count} calls came`);
    } finally {
      this.#watchers.delete(watch);
    }
    return this.#calls;
  }

  /** Listens; after `stop` on the same port again. */
  async start(): Promise<void> {
    if (this.#server) return;
    const server = createServer((socket) => this.#accept(socket));
    this.#server = server;
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address !== null && typeof address === "object") this.#port = address.port;
  }

  /** Stops listening (new connections are refused) and closes all open ones. Log and script stay. */
  async stop(how: "end" | "reset" = "end"): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#server = undefined;
    const closed = once(server, "close");
    server.close();
    for (const connection of this.#connections) connection.close(how);
    await closed;
  }

  /** Ends the provider; throws what an answer function threw, so that no script fault goes unseen. */
  async close(): Promise<void> {
    this.#hold?.release();
    await this.stop();
    if (this.#faults.length > 0) throw new AggregateError(this.#faults, "an answer function failed");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #accept(socket: Socket): void {
    this.#accepted += 1;
    const connection = new ProviderConnection(socket, this.#accepted, {
      flushMs: this.#options.flushMs ?? 30,
      keepAliveMs: () => this.keepAliveMs,
      onHead: (call) => this.#logCall(call),
      onReceived: () => this.#changed(),
      choose: async (call, signal) => {
        await this.#hold?.pass(signal);
        const reply = this.#next();
        return typeof reply === "function" ? await reply(call) : reply;
      },
      onFault: (error) => this.#faults.push(error),
    });
    this.#connections.add(connection);
    socket.on("close", () => {
      this.#connections.delete(connection);
      this.#changed();
    });
  }

  #logCall(call: RecordedCall): Answer | undefined {
    this.#calls.push(call);
    return this.#onHeaders?.(call);
  }

  #next(): Reply {
    const reply = this.#replies.length > 1 ? this.#replies.shift() : this.#replies[0];
    return reply ?? OK("ok");
  }

  #changed(): void {
    for (const watch of this.#watchers) watch();
  }
}

class HeldAnswers implements Hold {
  readonly #limit: number | undefined;
  readonly #released = Promise.withResolvers<void>();
  readonly #watchers = new Set<() => void>();
  #open = false;
  waiting = 0;

  constructor(limit: number | undefined) {
    this.#limit = limit;
  }

  async pass(signal: AbortSignal): Promise<void> {
    if (this.#open) return;
    this.waiting += 1;
    for (const watch of this.#watchers) watch();
    if (this.waiting === this.#limit) this.release();
    const gone = Promise.withResolvers<never>();
    const leave = () => gone.reject(new Error("caller left while held"));
    signal.addEventListener("abort", leave, { once: true });
    try {
      await Promise.race([this.#released.promise, gone.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
      this.waiting -= 1;
    }
  }

  async waitFor(calls: number, withinMs = DEFAULT_WAIT_MS): Promise<void> {
    const reached = Promise.withResolvers<void>();
    const watch = () => {
      if (this.waiting >= calls) reached.resolve();
    };
    this.#watchers.add(watch);
    watch();
    try {
      await within(withinMs, reached.promise, () => `${this.waiting} of ${calls} calls are held`);
    } finally {
      this.#watchers.delete(watch);
    }
  }

  release(): void {
    this.#open = true;
    this.#released.resolve();
  }
}

/** Starts a `ScriptedProvider`. */
export async function createScriptedProvider(
  options: ScriptedProviderOptions = {},
): Promise<ScriptedProvider> {
  const provider = new ScriptedProvider(options);
  await provider.start();
  return provider;
}

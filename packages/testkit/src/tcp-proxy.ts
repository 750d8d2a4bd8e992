import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

type Mode = "forward" | "black-hole" | "refuse";

// A link that holds more than this of delayed replies stops reading: a delay is not a buffer.
const DELAYED_LIMIT = 1 << 20;

/** A TCP proxy that can freeze, refuse and slow what goes through it (BH-44). */
export class TcpProxy {
  readonly #target: number;
  readonly #links = new Set<Link>();
  #server: Server | undefined;
  #mode: Mode = "forward";
  #replyDelayMs = 0;
  #port = 0;
  /** Connections accepted since creation. */
  connectionsAccepted = 0;
  /** Bytes forwarded towards the target and back. */
  readonly bytes: { up: number; down: number } = { up: 0, down: 0 };

  constructor(target: number) {
    this.#target = target;
  }

  get port(): number {
    return this.#port;
  }

  get connectionsOpen(): number {
    return this.#links.size;
  }

  /** Listens, on the same port as before if there was one. */
  async listen(): Promise<void> {
    if (this.#server) return;
    const server = createServer({ pauseOnConnect: true }, (client) => this.#accept(client));
    this.#server = server;
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address !== null && typeof address === "object") this.#port = address.port;
  }

  /** Works normally (again); bytes that a black hole held back arrive now. */
  async forward(): Promise<void> {
    this.#mode = "forward";
    await this.listen();
    for (const link of this.#links) link.thaw();
  }

  /** Keeps connections and accepts new ones, but lets no byte, FIN or RST through. */
  blackHole(): void {
    this.#mode = "black-hole";
    for (const link of this.#links) link.freeze();
  }

  /** Resets open connections and refuses new ones until `forward`. */
  async refuse(): Promise<void> {
    this.#mode = "refuse";
    await this.#shut();
  }

  /** Delivers each piece of data from the target that much later, in order; 0 ends it. */
  delayReplies(ms: number): void {
    this.#replyDelayMs = ms;
  }

  async close(): Promise<void> {
    this.#mode = "refuse";
    await this.#shut();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #shut(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    const closed = server ? once(server, "close") : undefined;
    server?.close();
    for (const link of this.#links) link.reset();
    await closed;
  }

  #accept(client: Socket): void {
    this.connectionsAccepted += 1;
    const link = new Link(client, this.#target, {
      replyDelayMs: () => this.#replyDelayMs,
      onForwarded: (way, count) => {
        this.bytes[way] += count;
      },
      onClose: () => this.#links.delete(link),
    });
    this.#links.add(link);
    if (this.#mode === "forward") link.thaw();
  }
}

interface LinkHooks {
  replyDelayMs(): number;
  onForwarded(way: "up" | "down", bytes: number): void;
  onClose(): void;
}

class Link {
  readonly #client: Socket;
  readonly #targetPort: number;
  readonly #hooks: LinkHooks;
  readonly #timers = new Set<NodeJS.Timeout>();
  #target: Socket | undefined;
  #frozen = true;
  #held: (() => void)[] = [];
  #delayed = 0;
  #lastDueAt = 0;

  constructor(client: Socket, targetPort: number, hooks: LinkHooks) {
    this.#client = client;
    this.#targetPort = targetPort;
    this.#hooks = hooks;
    client.setNoDelay(true);
    client.on("error", () => client.destroy());
    client.on("close", () => this.#closed());
  }

  freeze(): void {
    this.#frozen = true;
    this.#client.pause();
    this.#target?.pause();
  }

  thaw(): void {
    this.#frozen = false;
    for (const deliver of this.#held.splice(0)) deliver();
    this.#target ??= this.#connect();
    this.#client.resume();
    this.#target.resume();
  }

  reset(): void {
    this.#client.resetAndDestroy();
    this.#target?.resetAndDestroy();
  }

  #connect(): Socket {
    const target = connect(this.#targetPort, "127.0.0.1");
    target.setNoDelay(true);
    target.on("error", () => this.reset());
    target.on("close", () => this.#later(() => this.#client.destroySoon()));
    target.on("data", (chunk: Buffer) => this.#reply(target, chunk));
    this.#client.on("data", (chunk: Buffer) => this.#send(this.#client, target, chunk, "up"));
    return target;
  }

  #reply(target: Socket, chunk: Buffer): void {
    this.#delayed += chunk.length;
    if (this.#delayed > DELAYED_LIMIT) target.pause();
    this.#later(() => {
      this.#delayed -= chunk.length;
      if (!this.#frozen) target.resume();
      this.#send(target, this.#client, chunk, "down");
    });
  }

  /** Runs after the reply delay, behind all that was put off before, and not while frozen. */
  #later(deliver: () => void): void {
    const dueAt = Math.max(performance.now() + this.#hooks.replyDelayMs(), this.#lastDueAt);
    this.#lastDueAt = dueAt;
    if (dueAt <= performance.now() && this.#timers.size === 0) {
      this.#deliver(deliver);
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#deliver(deliver);
    }, dueAt - performance.now());
    this.#timers.add(timer);
  }

  #deliver(deliver: () => void): void {
    if (this.#frozen) this.#held.push(deliver);
    else deliver();
  }

  #send(from: Socket, to: Socket, chunk: Buffer, way: "up" | "down"): void {
    if (to.destroyed) return;
    this.#hooks.onForwarded(way, chunk.length);
    if (to.write(chunk)) return;
    from.pause();
    to.once("drain", () => {
      if (!this.#frozen) from.resume();
    });
  }

  #closed(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#held = [];
    this.#target?.destroySoon();
    this.#hooks.onClose();
  }
}

/** Starts a `TcpProxy` in front of a port of 127.0.0.1. */
export async function createTcpProxy(target: number): Promise<TcpProxy> {
  const proxy = new TcpProxy(target);
  await proxy.listen();
  return proxy;
}

import { Roster } from "@switchyard/http1";
import { type ConnectTarget, type OpenSocket, openSocket } from "./connect.ts";
import { Connection, type ConnectionOwner } from "./connection.ts";
import { ExchangeError } from "./errors.ts";
import { RequestHeads } from "./request-heads.ts";
import type { UpstreamClock } from "./types.ts";

/** Who asks a pool for a connection. Exactly one of the two calls answers, unless it cancels. */
export interface Lessee {
  readonly connectTimeoutMs: number;
  /** Ends the attempt to connect that runs for this lessee; the pool's to set. */
  cancelConnect: (() => void) | null;
  onLease(connection: Connection): void;
  onRefused(error: ExchangeError): void;
}

/** What the pools of one upstream share. */
export interface PoolSettings {
  readonly clock: UpstreamClock;
  readonly maxConnections: number;
  readonly maxQueued: number;
  readonly keepAliveMs: number;
  /** Called when a pool holds nothing any more. */
  onEmpty(pool: OriginPool): void;
}

/**
 * The connections of one origin. The most recently used idle one goes first, so the rest can age out; at the bound,
 * lessees wait in order. A connection belongs to its lessee until `release` or `replace`.
 */
export class OriginPool implements ConnectionOwner {
  readonly origin: string;
  readonly heads: RequestHeads;
  readonly #target: ConnectTarget;
  readonly #settings: PoolSettings;
  readonly #idle: Connection[] = [];
  readonly #leased = new Roster<Connection>();
  readonly #connecting = new Set<Lessee>();
  readonly #queue = new Set<Lessee>();
  #opened = 0;
  #closing = false;

  constructor(origin: string, target: ConnectTarget, settings: PoolSettings) {
    this.origin = origin;
    this.heads = new RequestHeads(target.authority);
    this.#target = target;
    this.#settings = settings;
  }

  get counts(): { connecting: number; active: number; idle: number; queued: number; opened: number } {
    return {
      connecting: this.#connecting.size,
      active: this.#leased.size,
      idle: this.#idle.length,
      queued: this.#queue.size,
      opened: this.#opened,
    };
  }

  /** Whether nothing runs or waits here, so that its idle connections may go. */
  get resting(): boolean {
    return this.#leased.size === 0 && this.#connecting.size === 0 && this.#queue.size === 0;
  }

  /** Leases a connection now, when one is connected, or in turn. An answer within this call is only ever a lease. */
  acquire(lessee: Lessee): void {
    const connection = this.#takeIdle();
    if (connection !== null) {
      this.#lease(connection, lessee);
    } else if (this.#size < this.#settings.maxConnections) {
      this.#connect(lessee);
    } else if (this.#queue.size < this.#settings.maxQueued) {
      this.#queue.add(lessee);
    } else {
      queueMicrotask(() => lessee.onRefused(new ExchangeError("connect", "POOL_FULL")));
    }
  }

  /** Withdraws a lessee that was not answered yet. */
  cancel(lessee: Lessee): void {
    if (this.#queue.delete(lessee) || this.#connecting.delete(lessee)) {
      lessee.cancelConnect?.();
      lessee.cancelConnect = null;
      this.#fill();
    }
  }

  /** Takes a connection back; one that cannot carry another exchange is closed. */
  release(connection: Connection): void {
    if (!this.#leased.delete(connection)) {
      return;
    }
    if (this.#closing || !connection.usable) {
      connection.destroy();
      this.#fill();
      return;
    }
    const next = this.#nextInQueue();
    if (next === null) {
      connection.rest();
      this.#idle.push(connection);
    } else {
      this.#lease(connection, next);
    }
  }

  /** Gives a broken connection's place to a fresh one for the same lessee, ahead of the queue. */
  replace(connection: Connection, lessee: Lessee): void {
    this.#leased.delete(connection);
    connection.destroy();
    this.#connect(lessee);
  }

  onIdleClosed(connection: Connection): void {
    const at = this.#idle.lastIndexOf(connection);
    if (at !== -1) {
      this.#idle.splice(at, 1);
      this.#fill();
    }
  }

  reportIfEmpty(): void {
    if (this.#size === 0) {
      this.#settings.onEmpty(this);
    }
  }

  /** Closes every idle connection. */
  dropIdle(): void {
    for (const connection of this.#idle.splice(0)) {
      connection.destroy();
    }
    this.#fill();
  }

  /** Closes what is idle now and what is released from now on; resolves when every socket is closed. */
  async close(): Promise<void> {
    this.#closing = true;
    const open = [...this.#idle, ...this.#leased.all()];
    const closed = Promise.all(open.map((connection) => connection.whenClosed()));
    this.dropIdle();
    await closed;
  }

  get #size(): number {
    return this.#leased.size + this.#connecting.size + this.#idle.length;
  }

  #takeIdle(): Connection | null {
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined) {
        return null;
      }
      if (connection.usable) {
        return connection;
      }
      connection.destroy();
    }
  }

  #nextInQueue(): Lessee | null {
    for (const lessee of this.#queue) {
      this.#queue.delete(lessee);
      return lessee;
    }
    return null;
  }

  #lease(connection: Connection, lessee: Lessee): void {
    this.#leased.add(connection);
    lessee.onLease(connection);
  }

  #connect(lessee: Lessee): void {
    this.#connecting.add(lessee);
    lessee.cancelConnect = openSocket(this.#target, lessee.connectTimeoutMs, this.#settings.clock, {
      onConnected: (open) => this.#onConnected(lessee, open),
      onConnectError: (error) => {
        lessee.cancelConnect = null;
        this.#connecting.delete(lessee);
        lessee.onRefused(error);
        this.#fill();
      },
    });
  }

  #onConnected(lessee: Lessee, open: OpenSocket): void {
    lessee.cancelConnect = null;
    this.#connecting.delete(lessee);
    this.#opened += 1;
    this.#lease(new Connection(open, this.#settings.keepAliveMs, this), lessee);
  }

  /** Uses room that came free for those who wait. */
  #fill(): void {
    while (!this.#closing && this.#queue.size > 0 && this.#size < this.#settings.maxConnections) {
      const next = this.#nextInQueue();
      if (next !== null) {
        this.#connect(next);
      }
    }
    this.reportIfEmpty();
  }
}

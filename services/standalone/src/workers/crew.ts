import cluster from "node:cluster";
import type { Worker } from "node:cluster";
import type { Logger, Readiness } from "@switchyard/telemetry";
import type { BoundAddresses } from "../node/addresses.ts";
import { CommandError, EXIT } from "../exit.ts";
import { closeWithWorker } from "./handed-over.ts";
import type { FromPrimary, FromWorker } from "./messages.ts";

const RESTART_FIRST_MS = 100;
const RESTART_MOST_MS = 10_000;
/** A worker that lived this long had a good start: the next restart is quick again, ms. */
const LIVED_MS = 30_000;
/** How long the primary waits for a worker's metrics, ms. */
const METRICS_WITHIN_MS = 1_000;

/** The worker processes of one primary: started, restarted when they die, asked and drained together. */
export class Crew {
  readonly #size: number;
  readonly #logger: Logger;
  readonly #readiness = new Map<number, Readiness>();
  readonly #waiting = new Map<number, (text: string) => void>();
  readonly #started = Promise.withResolvers<BoundAddresses>();
  readonly #ended = Promise.withResolvers<void>();
  #ready = 0;
  #restartMs = RESTART_FIRST_MS;
  #question = 0;
  #draining = false;
  #serving = false;

  constructor(size: number, logger: Logger) {
    this.#size = size;
    this.#logger = logger;
  }

  /** Resolves with their common addresses when all serve; rejects with the first one's reason if one cannot. */
  start(): Promise<BoundAddresses> {
    // Payloads of the bus are bytes.
    cluster.setupPrimary({ serialization: "advanced" });
    for (let index = 0; index < this.#size; index += 1) this.#fork();
    return this.#started.promise;
  }

  readiness(): Readiness {
    const told = [...this.#readiness.values()];
    const ready = told.filter((one) => one.ready);
    return {
      ready: !this.#draining && ready.length > 0,
      detail: {
        ...(ready[0] ?? told[0])?.detail,
        workers: this.#size,
        workers_ready: ready.length,
        draining: this.#draining,
      },
    };
  }

  /** The metrics of every worker that answers in time. */
  metrics(): Promise<string[]> {
    return Promise.all(workers().map((worker) => this.#metricsOf(worker))).then((texts) =>
      texts.filter((text) => text !== ""),
    );
  }

  /** Resolves when every worker has drained and ended; those that have not within `withinMs` are killed. */
  async drain(withinMs: number): Promise<void> {
    this.#draining = true;
    for (const worker of workers()) tell(worker, { kind: "drain" });
    const killer = setTimeout(() => {
      for (const worker of workers()) worker.process.kill("SIGKILL");
    }, withinMs);
    if (workers().length > 0) await this.#ended.promise;
    clearTimeout(killer);
  }

  #fork(): void {
    const worker = cluster.fork();
    const startedAt = Date.now();
    this.#logger.info("worker started", { worker: worker.id, pid: worker.process.pid });
    closeWithWorker(worker);
    worker.on("message", (message: FromWorker) => this.#hear(worker, message));
    // A channel that breaks under a message: the worker's exit follows, and says it.
    worker.on("error", () => {});
    worker.on("exit", (code, signal) => {
      this.#readiness.delete(worker.id);
      this.#onExit(signal ?? String(code), Date.now() - startedAt);
    });
  }

  #hear(worker: Worker, message: FromWorker): void {
    switch (message.kind) {
      case "bus":
        for (const other of workers()) if (other.id !== worker.id) tell(other, message);
        break;
      case "readiness":
        this.#readiness.set(worker.id, message.readiness);
        break;
      case "metrics":
        this.#waiting.get(message.id)?.(message.text);
        break;
      case "ready":
        // It listens for what it is told from now on.
        if (this.#draining) tell(worker, { kind: "drain" });
        this.#ready += 1;
        if (this.#ready < this.#size) break;
        this.#serving = true;
        this.#started.resolve(message.addresses);
        break;
      case "failed": {
        const { status, lines } = message;
        if (this.#serving) this.#logger.error(`worker cannot start: ${message.message}`, { faults: lines });
        if (this.#serving) worker.process.kill("SIGKILL");
        else this.#giveUp(new CommandError(message.message, { status, lines }));
      }
    }
  }

  #onExit(how: string, livedMs: number): void {
    if (this.#draining) {
      if (workers().length === 0) this.#ended.resolve();
      return;
    }
    this.#logger.error("a worker ended", { how });
    if (!this.#serving) {
      this.#giveUp(new CommandError(`a worker ended at its start (${how})`, { status: EXIT.software }));
      return;
    }
    const wait = livedMs >= LIVED_MS ? RESTART_FIRST_MS : this.#restartMs;
    this.#restartMs = Math.min(wait * 2, RESTART_MOST_MS);
    setTimeout(() => {
      if (!this.#draining) this.#fork();
    }, wait);
  }

  /** One that cannot start means that none can: the others end too, before they can say anything else. */
  #giveUp(reason: CommandError): void {
    this.#draining = true;
    for (const worker of workers()) worker.process.kill("SIGKILL");
    this.#started.reject(reason);
  }

  #metricsOf(worker: Worker): Promise<string> {
    this.#question += 1;
    const id = this.#question;
    return new Promise((resolve) => {
      const settle = (text: string): void => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve(text);
      };
      const timer = setTimeout(() => settle(""), METRICS_WITHIN_MS);
      this.#waiting.set(id, settle);
      tell(worker, { kind: "metrics?", id });
    });
  }
}

function workers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter(
    (worker) => worker !== undefined && !worker.isDead(),
  ) as Worker[];
}

function tell(worker: Worker, message: FromPrimary): void {
  // One that is on its way out hears nothing, which its exit will say.
  if (worker.isConnected()) worker.send(message, () => {});
}

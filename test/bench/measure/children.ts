import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

const STOP_TIMEOUT_MS = 5_000;
const KEPT_OUTPUT = 20_000;

export interface StartOptions {
  /** The core it may use; any when undefined. */
  readonly core?: number | undefined;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** With a channel for messages. */
  readonly ipc?: boolean;
  /** Sent when the benchmark ends without having stopped it; SIGKILL would orphan a master's workers. */
  readonly lastSignal?: NodeJS.Signals;
}

/** A process of the benchmark: pinned, its output kept, ended with the benchmark. */
export class Child {
  readonly process: ChildProcess;
  readonly lastSignal: NodeJS.Signals;
  output = "";
  #failure: string | undefined;

  constructor(command: string, args: readonly string[], options: StartOptions = {}) {
    if (stopping) throw new Error("interrupted");
    const pinned = options.core === undefined ? [] : ["taskset", "-c", String(options.core)];
    const [program = command, ...rest] = [...pinned, command, ...args];
    this.process = spawn(program, rest, {
      stdio: options.ipc === true ? ["ignore", "pipe", "pipe", "ipc"] : ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...options.env },
      ...(options.cwd !== undefined && { cwd: options.cwd }),
    });
    this.lastSignal = options.lastSignal ?? "SIGKILL";
    alive.add(this);
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.output = (this.output + text).slice(-KEPT_OUTPUT);
      });
    }
    this.process.once("error", (error) => {
      this.#failure = error.message;
    });
    this.process.once("exit", () => alive.delete(this));
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  /** Why it no longer runs; undefined while it does. */
  get ended(): string | undefined {
    const { exitCode, signalCode } = this.process;
    if (this.#failure !== undefined) return this.#failure;
    return exitCode === null && signalCode === null ? undefined : `ended with ${signalCode ?? exitCode}`;
  }

  /** The first match in its output; an error if it ends or time is up before. */
  async waitForOutput(pattern: RegExp, timeoutMs: number): Promise<RegExpExecArray> {
    return poll(
      () => pattern.exec(this.output) ?? undefined,
      () => this.ended,
      timeoutMs,
      () => `no output ${pattern}:\n${this.output}`,
    );
  }

  /** Sends an order and waits for the one message that answers it. */
  async ask<Answer>(order: object | undefined, timeoutMs: number): Promise<Answer> {
    if (this.ended !== undefined) throw new Error(this.ended);
    const waiting = new AbortController();
    const timer = setTimeout(() => {
      waiting.abort(new Error(`no answer within ${timeoutMs} ms\n${this.output}`));
    }, timeoutMs);
    const onExit = (): void => {
      waiting.abort(new Error(`${this.ended ?? "ended"}\n${this.output}`));
    };
    this.process.once("exit", onExit);
    try {
      const answer = once(this.process, "message", { signal: waiting.signal });
      if (order !== undefined) this.process.send(order);
      const [message] = (await answer) as [Answer];
      return message;
    } catch (error) {
      throw waiting.signal.aborted ? waiting.signal.reason : error;
    } finally {
      clearTimeout(timer);
      this.process.off("exit", onExit);
    }
  }

  /** SIGTERM, then SIGKILL; resolves when it is gone. */
  async stop(): Promise<void> {
    if (this.ended !== undefined) return;
    const gone = once(this.process, "exit");
    this.process.kill("SIGTERM");
    const force = setTimeout(() => this.process.kill("SIGKILL"), STOP_TIMEOUT_MS);
    try {
      await gone;
    } finally {
      clearTimeout(force);
    }
  }
}

const alive = new Set<Child>();
let stopping = false;
// An exit handler has no time to wait: whatever still runs then ends at once.
process.on("exit", () => {
  for (const child of alive) child.process.kill(child.lastSignal);
});

/** Ends all that still runs, and lets nothing start any more, for a benchmark that was interrupted. */
export async function stopAll(): Promise<void> {
  stopping = true;
  await Promise.all([...alive].map((child) => child.stop()));
}

// Should the benchmark be killed outright, the closed channel ends the child all the same.
const ORPHAN_GUARD =
  'data:text/javascript,process.on("disconnect",()=>process.exit(1));process.channel?.unref()';

/** A `node` of this version that never outlives the benchmark. */
export function startNode(args: readonly string[], options: StartOptions): Child {
  return new Child(process.execPath, ["--import", ORPHAN_GUARD, ...args], { ...options, ipc: true });
}

const POLL_MS = 20;

/** Waits until `look` finds something; fails once `ended` says why it never will, or when time is up. */
export async function poll<Found>(
  look: () => Found | undefined | Promise<Found | undefined>,
  ended: () => string | undefined,
  timeoutMs: number,
  words: () => string,
): Promise<Found> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    const end = ended();
    if (end !== undefined || performance.now() > deadline)
      throw new Error(`${end ?? "not ready in time"}: ${words()}`);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    setTimeout(() => {
      resolve(undefined);
    }, POLL_MS);
    await promise;
  }
}

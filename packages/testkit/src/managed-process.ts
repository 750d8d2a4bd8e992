import { type ChildProcess, spawn } from "node:child_process";

import { within } from "./within.ts";

export interface StartNodeOptions {
  /** Added to this process's environment; undefined removes a name. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Wait for a line of stdout or stderr that matches, before the process counts as started. */
  readonly ready?: RegExp;
  /** Bound of that wait. Default 15 s. */
  readonly withinMs?: number;
}

/** How a process ended. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const alive = new Set<ChildProcess>();
let hooked = false;

// Should the test process be killed outright, the closed channel ends the child all the same. The child's own workers
// are given this too; their channel is their primary's, and must keep them alive.
const ORPHAN_GUARD =
  'data:text/javascript,import cluster from "node:cluster";' +
  'if(!cluster.isWorker){process.on("disconnect",()=>process.exit(1));process.channel?.unref()}';
const OUTPUT_LIMIT = 8 << 20;

/** A child `node` with its output captured. It never outlives the test process. */
export class ManagedProcess {
  readonly #child: ChildProcess;
  readonly #exited = Promise.withResolvers<ProcessExit>();
  readonly #watchers = new Set<() => void>();
  #exit: ProcessExit | undefined;
  /** Captured so far; the oldest part is dropped beyond 8 MiB each. */
  stdout = "";
  stderr = "";

  constructor(args: readonly string[], options: StartNodeOptions = {}) {
    const env = { ...process.env, ...options.env };
    this.#child = spawn(process.execPath, ["--import", ORPHAN_GUARD, ...args], {
      env,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      ...(options.cwd !== undefined && { cwd: options.cwd }),
    });
    this.#register();
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.stdout = (this.stdout + text).slice(-OUTPUT_LIMIT);
      this.#changed();
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr = (this.stderr + text).slice(-OUTPUT_LIMIT);
      this.#changed();
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** How it ended; undefined while it runs. */
  get exit(): ProcessExit | undefined {
    return this.#exit;
  }

  /** Resolves when it has ended and its output is complete. */
  get exited(): Promise<ProcessExit> {
    return this.#exited.promise;
  }

  /** stdout, then stderr. */
  get output(): string {
    return `${this.stdout}\n${this.stderr}`;
  }

  /** The first line of either stream that matches; fails with the output if the process ends or time is up. */
  async waitForLine(pattern: RegExp, withinMs = 15_000): Promise<RegExpExecArray> {
    const found = Promise.withResolvers<RegExpExecArray>();
    const look = () => {
      const match = this.#match(pattern);
      if (match) found.resolve(match);
      else if (this.#exit) {
        const { code, signal } = this.#exit;
        found.reject(new Error(`ended (${signal ?? code}) before ${pattern}\n${this.output}`));
      }
    };
    this.#watchers.add(look);
    look();
    try {
      return await within(withinMs, found.promise, () => `no line ${pattern}\n${this.output}`);
    } finally {
      this.#watchers.delete(look);
    }
  }

  /** Sends a signal and does not wait. */
  kill(signal: NodeJS.Signals = "SIGKILL"): void {
    this.#child.kill(signal);
  }

  /** SIGTERM, then after `graceMs` SIGKILL; resolves when it has ended. */
  async stop(graceMs = 5000): Promise<ProcessExit> {
    if (this.#exit) return this.#exit;
    this.#child.kill("SIGTERM");
    const killer = setTimeout(() => this.#child.kill("SIGKILL"), graceMs);
    try {
      return await this.#exited.promise;
    } finally {
      clearTimeout(killer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #register(): void {
    if (!hooked) {
      hooked = true;
      process.on("exit", () => {
        for (const child of alive) child.kill("SIGKILL");
      });
    }
    alive.add(this.#child);
    const ended = (code: number | null, signal: NodeJS.Signals | null) => {
      alive.delete(this.#child);
      this.#exit ??= { code, signal };
      this.#exited.resolve(this.#exit);
      this.#changed();
    };
    this.#child.on("close", ended);
    this.#child.on("error", (error) => {
      this.stderr += String(error);
      ended(null, null);
    });
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    for (const line of this.output.split("\n")) {
      const match = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, "")).exec(line);
      if (match) return match;
    }
    return undefined;
  }

  #changed(): void {
    for (const look of this.#watchers) look();
  }
}

/** Starts a node script; with `ready`, resolves when that line is out, and stops the child if it does not come. */
export async function startNode(
  args: readonly string[],
  options: StartNodeOptions = {},
): Promise<ManagedProcess> {
  const child = new ManagedProcess(args, options);
  try {
    if (options.ready) await child.waitForLine(options.ready, options.withinMs);
    return child;
  } catch (error) {
    await child.stop(1000);
    throw error;
  }
}

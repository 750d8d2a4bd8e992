import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "@switchyard/testkit";
import { findNatsServer, installNatsServer } from "./nats-server-binary.ts";

const startTimeoutMs = 10_000;
const stopTimeoutMs = 5_000;
const pollMs = 10;
const keptLogCharacters = 4_000;

export interface NatsServerOptions {
  /** A free one when left out. */
  readonly port?: number;
  /** Text of a nats-server configuration file, on top of the listener and JetStream. */
  readonly config?: string;
}

/** A nats-server process of its own, on loopback, with JetStream in a temporary folder. */
export interface NatsServer {
  readonly url: string;
  readonly port: number;
  /** Of the running process; of the last one while it is down. */
  readonly pid: number;
  /** SIGKILL, as a crash: port and stored data stay reserved for `restart`. Resolves when the process is gone. */
  kill(): Promise<void>;
  /** Ends the process if it runs and starts it on the same port with the same stored data. */
  restart(options?: Pick<NatsServerOptions, "config">): Promise<void>;
  /** Ends the process and removes its data. May be called again. */
  stop(): Promise<void>;
}

interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly port: number;
}

/** Starts a real nats-server, which is downloaded first where none is installed. */
export async function startNatsServer(options: NatsServerOptions = {}): Promise<NatsServer> {
  const binary = findNatsServer() ?? installNatsServer();
  const folder = mkdtempSync(join(tmpdir(), "switchyard-nats-"));
  let config = options.config;
  let running: Running;
  // Whoever leaves without stop() must not leave a server behind.
  const onExit = (): void => {
    running.child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    running = await launch(binary, folder, options.port ?? (await freePort()), config);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  process.once("exit", onExit);
  const { port } = running;
  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    get pid() {
      return running.pid;
    },
    kill: () => end(running.child, "SIGKILL"),
    async restart(changed = {}) {
      await end(running.child, "SIGTERM");
      config = changed.config ?? config;
      running = await launch(binary, folder, port, config);
    },
    async stop() {
      process.off("exit", onExit);
      await end(running.child, "SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function launch(
  binary: string,
  folder: string,
  port: number,
  config: string | undefined,
): Promise<Running> {
  const args = [
    "-a",
    "127.0.0.1",
    "-p",
    String(port),
    "-js",
    "-sd",
    join(folder, "store"),
    "--ports_file_dir",
    folder,
  ];
  if (config !== undefined) {
    writeFileSync(join(folder, "nats.conf"), config);
    args.push("-c", join(folder, "nats.conf"));
  }
  const child = spawn(binary, args, { stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    log = (log + text).slice(-keptLogCharacters);
  });
  let failure: string | undefined;
  child.once("error", (error) => {
    failure = error.message;
  });
  const deadline = performance.now() + startTimeoutMs;
  while (performance.now() < deadline && failure === undefined && !hasEnded(child)) {
    const announced =
      child.pid === undefined ? undefined : readAnnouncedPort(join(folder, `nats-server_${child.pid}.ports`));
    if (announced !== undefined && child.pid !== undefined) return { child, pid: child.pid, port: announced };
    await delay(pollMs);
  }
  await end(child, "SIGKILL");
  throw new Error(`nats-server did not start: ${failure ?? lastFatalLine(log)}`);
}

/** The server writes this file once it listens; a half-written one is read again at the next poll. */
function readAnnouncedPort(file: string): number | undefined {
  try {
    const { nats } = JSON.parse(readFileSync(file, "utf8")) as { nats?: string[] };
    return nats?.[0] === undefined ? undefined : Number(new URL(nats[0]).port);
  } catch {
    return undefined;
  }
}

function lastFatalLine(log: string): string {
  const lines = log.trim().split("\n");
  return lines.findLast((line) => line.includes("[FTL]")) ?? lines.at(-1) ?? "no output";
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function end(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  if (child.pid === undefined || hasEnded(child)) return;
  const gone = once(child, "exit");
  child.kill(signal);
  const force = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
  try {
    await gone;
  } finally {
    clearTimeout(force);
  }
}

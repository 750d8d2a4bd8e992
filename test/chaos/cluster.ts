import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually, freePort, startNode } from "@switchyard/testkit";
import type { ManagedProcess } from "@switchyard/testkit";
import { readConfig, withRuntime } from "../support/gateway-config.ts";

const MAIN = join(import.meta.dirname, "../../services/standalone/src/main.ts");
const START_WITHIN_MS = 30_000;

/** `serve` is all four services in one process. */
export type Kind = "serve" | "router" | "forwarder" | "health" | "facade";

export interface ClusterOptions {
  /** Of the NATS server, or of what stands before it; without one every process has its own embedded bus. */
  readonly natsUrl: string | undefined;
  /** YAML or its object form, without `runtime`. */
  readonly config: string | object;
  /** How many processes of each kind. Every facade calls every forwarder, and every forwarder every router. */
  readonly nodes: Readonly<Partial<Record<Kind, number>>>;
  /** Fields of `runtime` beside listeners, bus and peers; or of `bus.nats`. */
  readonly runtime?: Readonly<Record<string, unknown>>;
  readonly nats?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  /** The first facade calls the first forwarder only, that one the first router only, and so on. */
  readonly paired?: boolean;
}

/** One process of the product, which may be killed and started again at the same addresses. */
export class Member {
  readonly kind: Kind;
  readonly http: string;
  readonly rpc: string;
  readonly ops: string;
  readonly file: string;
  readonly #env: Readonly<Record<string, string>>;
  #process: ManagedProcess | undefined;
  #earlier = "";

  constructor(kind: Kind, file: string, ports: readonly number[], env: Readonly<Record<string, string>>) {
    const [http, rpc, ops] = ports.map((port) => `http://127.0.0.1:${port}`) as [string, string, string];
    this.kind = kind;
    this.file = file;
    this.http = http;
    this.rpc = rpc;
    this.ops = ops;
    this.#env = env;
  }

  get ports(): readonly number[] {
    return [this.http, this.rpc, this.ops].map((url) => Number(new URL(url).port));
  }

  get process(): ManagedProcess {
    if (this.#process === undefined) throw new Error(`the ${this.kind} was never started`);
    return this.#process;
  }

  /** Everything that it and its predecessors have written. */
  get output(): string {
    return this.#earlier + (this.#process?.output ?? "");
  }

  /** Log lines that a person would see. */
  get logLines(): number {
    return this.output.split("\n").filter((line) => line.startsWith("{")).length;
  }

  async start(): Promise<void> {
    this.#earlier = this.output;
    this.#process = undefined;
    this.#process = await startNode([MAIN, this.kind, "--config", this.file], {
      env: this.#env,
      ready: /^ready /,
      withinMs: START_WITHIN_MS,
    });
  }

  /** SIGKILL; resolves when it is gone. */
  async kill(): Promise<void> {
    this.process.kill("SIGKILL");
    await this.process.exited;
  }

  async stop(): Promise<void> {
    await this.#process?.stop(3_000);
  }

  async healthz(): Promise<number> {
    return (await fetch(`${this.ops}/healthz`, { signal: AbortSignal.timeout(1_000) })).status;
  }

  /** What `/readyz` tells. */
  async readyz(): Promise<{ readonly httpStatus: number; readonly bus: string; readonly revision: number }> {
    const response = await fetch(`${this.ops}/readyz`, { signal: AbortSignal.timeout(1_000) });
    const body = (await response.json()) as { bus: string; revision: number };
    return { httpStatus: response.status, bus: body.bus, revision: body.revision };
  }

  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.ops}/metrics`)).text();
    const line = text.split("\n").find((one) => one.startsWith(`${name} `));
    return Number(line?.slice(name.length + 1));
  }

  /** Resident memory, MiB. */
  async rssMib(): Promise<number> {
    const status = await readFile(`/proc/${this.process.pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
  }
}

export class Cluster implements AsyncDisposable {
  readonly members: readonly Member[];
  readonly #owner: AsyncDisposableStack;

  constructor(members: readonly Member[], owner: AsyncDisposableStack) {
    this.members = members;
    this.#owner = owner;
  }

  /** The process of that kind with that number, from 0. */
  at(kind: Kind, index = 0): Member {
    const member = this.all(kind)[index];
    if (member === undefined) throw new Error(`there is no ${kind} ${index}`);
    return member;
  }

  all(kind: Kind): readonly Member[] {
    return this.members.filter((member) => member.kind === kind);
  }

  /** HTTP faces. */
  get faces(): readonly string[] {
    return [...this.all("serve"), ...this.all("facade")].map(({ http }) => http);
  }

  /** Waits until every process that decides or forwards works by this revision and sees the bus. */
  async settled(revision = 1): Promise<void> {
    const told = this.members.filter(({ kind }) => kind !== "facade");
    await eventually(
      async () => {
        const seen = await Promise.all(told.map((member) => member.readyz()));
        const late = seen.filter((one) => one.revision < revision || one.bus !== "connected");
        if (late.length > 0) throw new Error(`not settled: ${JSON.stringify(seen)}`);
      },
      { within: 15_000, every: 25 },
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owner.disposeAsync();
  }
}

/** Starts real processes; resolves when each has said that it is ready. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { members, owner } = await layOut(options);
  await using starting = owner;
  await Promise.all(members.map((member) => member.start()));
  return new Cluster(members, starting.move());
}

/** Gives every process its addresses and its file, and starts none. */
async function layOut(
  options: ClusterOptions,
): Promise<{ readonly members: readonly Member[]; readonly owner: AsyncDisposableStack }> {
  const owner = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "switchyard-chaos-"));
  owner.defer(() => rmSync(folder, { recursive: true, force: true }));
  const members: Member[] = [];
  for (const [kind, count] of Object.entries(options.nodes) as [Kind, number][]) {
    for (let index = 0; index < count; index += 1) {
      const ports = [await freePort(), await freePort(), await freePort()];
      const member = new Member(kind, join(folder, `${kind}-${index}.yaml`), ports, options.env ?? {});
      owner.defer(() => member.stop());
      members.push(member);
    }
  }
  const of = (kind: Kind): Member[] => members.filter((one) => one.kind === kind);
  const peers = (kind: Kind, caller: Member): string[] => {
    const all = of(kind).map(({ rpc }) => rpc);
    const own = of(caller.kind).indexOf(caller);
    return options.paired === true ? all.slice(own, own + 1) : all;
  };
  for (const member of members) {
    const at = (url: string): string => new URL(url).host;
    const text = withRuntime(options.config, {
      ...options.runtime,
      listen: { http: at(member.http), rpc: at(member.rpc), ops: at(member.ops) },
      ...(options.natsUrl === undefined
        ? {}
        : { bus: { nats: { servers: [options.natsUrl], ...options.nats } } }),
      ...(member.kind === "forwarder" ? { router: { urls: peers("router", member) } } : {}),
      ...(member.kind === "facade" ? { forwarder: { urls: peers("forwarder", member) } } : {}),
    });
    readConfig(text);
    writeFileSync(member.file, text);
  }
  return { members, owner };
}

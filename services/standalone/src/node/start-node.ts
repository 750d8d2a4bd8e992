import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Bus } from "@switchyard/bus";
import { durationMs, nativePaths, processSecrets } from "@switchyard/config";
import type { LoadedFile } from "@switchyard/config";
import type { ConfigFeed } from "@switchyard/cluster";
import { createFacade } from "@switchyard/facade";
import type { Facade } from "@switchyard/facade";
import type { Config, Runtime } from "@switchyard/proto/config/v1/config";
import { createRpcServer } from "@switchyard/rpc";
import type { Registration, RpcServer } from "@switchyard/rpc";
import { Metrics, openTracer, startOpsServer } from "@switchyard/telemetry";
import type { Logger, Readiness } from "@switchyard/telemetry";
import type { ServiceName } from "../args/command.ts";
import { addressOf, listenFailure } from "./addresses.ts";
import type { BoundAddresses, ListenerName } from "./addresses.ts";
import { hostServices } from "./host-services.ts";
import type { Hosted } from "./host-services.ts";
import { VERSION } from "../version.ts";
import { openBus } from "./open-bus.ts";
import { openFeed } from "./open-feed.ts";
import type { OpenFeed } from "./open-feed.ts";

const DEFAULT_DRAIN_MS = 30_000;
/** How long the last spans may take to reach their collector at the end, ms. */
const EXPORT_WITHIN_MS = 1_000;
const DEFAULT_MAX_BODY_BYTES = 100 * 1024 * 1024;

export interface NodeOptions {
  readonly config: Config;
  /** The file that the config was read from, which is watched on the embedded bus; undefined when it came from none. */
  readonly path: string | undefined;
  /** That file as it was read, so that no edit since then is missed. */
  readonly file?: LoadedFile;
  readonly services: ReadonlySet<ServiceName>;
  readonly logger: Logger;
  /** What to do about an occupied port, such as `change runtime.listen.http in FILE`. */
  readonly listenHint: (name: ListenerName) => string;
  /** Whether this process has an ops port of its own. */
  readonly ops: boolean;
  /** Wraps the bus, where this process shares it with others. */
  readonly wrapBus?: (bus: Bus) => Bus;
}

/** A process that serves. */
export interface RunningNode {
  readonly addresses: BoundAddresses;
  readonly metrics: Metrics;
  /** Brings gauges up to date that are only read when metrics are. */
  refresh(): void;
  readiness(): Readiness;
  /** Stops accepting at once, lets running requests finish for `graceMs`, then frees everything. */
  drain(graceMs: number): Promise<void>;
}

/** Starts a set of services in this process. Throws a `CommandError` with one clear line, and leaves nothing behind. */
export async function startNode(options: NodeOptions): Promise<RunningNode> {
  await using owner = new AsyncDisposableStack();
  const { services, logger } = options;
  const { runtime } = options.config;
  const metrics = new Metrics();
  const name = uniqueName();
  const own = openBus({ runtime, secrets: processSecrets, logger, name });
  const bus = options.wrapBus?.(own) ?? own;
  owner.defer(() => bus.close());

  const config = await openFeed({ ...options, bus });
  owner.defer(() => config.feed.close());
  // Only attempts and the requests that they serve are traced, and those are the forwarder's.
  const tracer = services.has("forwarder")
    ? await openTracer({ env: process.env, service: "switchyard", version: VERSION, logger })
    : undefined;
  owner.defer(() => tracer?.close(EXPORT_WITHIN_MS));
  const hosted = hostServices(
    { services, runtime, bus, config, secrets: processSecrets, logger, metrics, tracer, name },
    owner,
  );

  let draining = false;
  const readiness = (): Readiness => join(hosted.readiness, bus, config, draining);
  let droppedBefore = 0;
  const refresh = (): void => {
    metrics.busConnected.set(bus.state === "connected" ? 1 : 0);
    const { dropped } = bus.counters();
    metrics.busDropped.inc(dropped - droppedBefore);
    droppedBefore = dropped;
  };
  const addresses: Partial<Record<ListenerName, string>> = {};
  const rpc = await listenRpc(hosted.registrations, options, runtime);
  if (rpc !== undefined) {
    addresses.rpc = rpc.url;
    owner.defer(() => rpc.close(0));
  }
  const facade = services.has("facade") ? makeFacade(hosted, metrics, config.feed, options) : undefined;
  if (facade !== undefined) {
    addresses.http = `http://${await attempt("http", options, runtime, (at) => facade.listen(at))}`;
    owner.defer(() => facade.close(0));
  }
  if (options.ops) {
    const ops = await attempt("ops", options, runtime, (at) =>
      startOpsServer({ ...at, metrics, readiness, refresh }),
    );
    addresses.ops = `http://${ops.address}`;
    owner.defer(() => ops.close());
  }

  const kept = owner.move();
  return {
    addresses,
    metrics,
    refresh,
    readiness,
    drain: async (graceMs) => {
      draining = true;
      const answered = Promise.all([
        rpc?.close(graceMs),
        // Only then: until the last request of this process is answered its outcomes are still wanted.
        Promise.resolve(facade?.close(graceMs)).then(() => hosted.endWatches()),
      ]);
      await answered;
      await kept.disposeAsync();
    },
  };
}

/** How long running requests may finish after SIGTERM, ms. */
export function drainMsOf(runtime: Runtime | undefined): number {
  return runtime?.drain === undefined ? DEFAULT_DRAIN_MS : durationMs(runtime.drain);
}

function makeFacade(
  { inference }: Hosted,
  metrics: Metrics,
  feed: ConfigFeed,
  { config, logger }: NodeOptions,
): Facade {
  if (inference === undefined) throw new Error("a facade without a forwarder");
  let native = nativePaths(config);
  feed.subscribe((applied) => {
    native = nativePaths(applied.config);
  });
  return createFacade({
    nativePaths: () => native,
    inference,
    metrics,
    maxBodyBytes: Number(config.runtime?.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES),
    logger: logger.child({ service: "facade" }),
  });
}

async function listenRpc(
  services: readonly Registration[],
  options: NodeOptions,
  runtime: Runtime | undefined,
): Promise<RpcServer | undefined> {
  if (services.length === 0) return undefined;
  const onError = (error: unknown): void => {
    const name = error instanceof Error ? error.name : "unknown";
    const at =
      error instanceof Error ? error.stack?.split("\n").find((line) => line.includes(" at ")) : undefined;
    options.logger.error("a call failed for a reason of our own", { error: name, at: at?.trim() });
  };
  return attempt("rpc", options, runtime, (at) => createRpcServer({ ...at, services, onError }));
}

async function attempt<T>(
  name: ListenerName,
  { listenHint }: NodeOptions,
  runtime: Runtime | undefined,
  listen: (at: { host: string; port: number }) => Promise<T>,
): Promise<T> {
  const address = addressOf(runtime, name);
  try {
    return await listen(address);
  } catch (error) {
    throw listenFailure(name, address, listenHint(name), error);
  }
}

function join(
  parts: readonly (() => Readiness)[],
  bus: Bus,
  { feed }: OpenFeed,
  draining: boolean,
): Readiness {
  const told = parts.map((part) => part());
  const applied = feed.current();
  return {
    ready: !draining && applied !== undefined && told.every(({ ready }) => ready),
    detail: {
      ...Object.assign({}, ...told.map(({ detail }) => detail)),
      bus: bus.state,
      revision: applied?.revision ?? 0,
      draining,
    },
  };
}

/** A token of NATS subjects that no other process has. */
function uniqueName(): string {
  const host = hostname()
    .replace(/[^A-Za-z0-9_-]/gu, "-")
    .slice(0, 40);
  return `${host}-${process.pid}-${randomBytes(3).toString("hex")}`;
}

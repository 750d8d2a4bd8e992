/** How the same services are put together: house.md, "Life of a request". */
export type Form = "one-process" | "four-processes";

export const FORMS: readonly Form[] = ["one-process", "four-processes"];

export type ServiceName = "router" | "forwarder" | "health" | "facade";

export interface GatewayOptions {
  readonly form: Form;
  /** YAML or its object form, without `runtime`. */
  readonly config: string | object;
  /** Fields of `runtime` beside listeners, bus and peers, such as `max_body_bytes`. */
  readonly runtime?: Readonly<Record<string, unknown>>;
  /** Seen by every process; names that the config's credentials refer to. */
  readonly env?: Readonly<Record<string, string>>;
  /** A NATS server that nothing else uses; a server of its own when left out where one is needed. */
  readonly natsUrl?: string;
  /** Gateways on one bus, each a router, a forwarder and a facade (one health service in all when apart). Default 1. */
  readonly replicas?: number;
}

/** A running gateway, or several on one bus. */
export interface Gateway {
  readonly form: Form;
  /** Base URL of the first facade, without `/v1`. */
  readonly http: string;
  /** Of every facade, in order. */
  readonly facades: readonly string[];
  /** URLs of services' RPC listeners, first replica; in one process they are the same. */
  readonly rpc: Readonly<Record<Exclude<ServiceName, "facade">, string>>;
  /** Base URLs of all ops ports. */
  readonly ops: readonly string[];
  /** Everything that any process has written so far, in no order. */
  logs(): string;
  /** Empties {@link Gateway.logs}: what comes next is somebody else's. */
  forgetLogs(): void;
  /** Replaces the config; resolves when every process works by it. Again without `runtime`. */
  apply(config: string | object): Promise<void>;
  /** SIGKILL; four processes only. */
  kill(service: ServiceName, replica?: number): Promise<void>;
  /** Starts a killed or running service again at the same addresses; four processes only. */
  restart(service: ServiceName, replica?: number): Promise<void>;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

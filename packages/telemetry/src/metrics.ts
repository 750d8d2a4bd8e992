import { Counter, Gauge, Histogram, Registry } from "prom-client";

/** Seconds; long answers are the rule, not the exception. */
const DURATION_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const FIRST_TOKEN_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60];

/** A series whose labels are already chosen: cheap on the hot path. */
export interface Series {
  inc(by?: number): void;
}
export interface GaugeSeries extends Series {
  dec(by?: number): void;
  set(value: number): void;
}
export interface Observer {
  observe(value: number): void;
}

/** Prometheus metrics of one process; names start `switchyard_`. Labels hold only names from the config. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = this.#counter("requests_total", "Requests answered", ["endpoint", "group", "status"]);
  readonly #attempts = this.#counter("attempts_total", "Attempts by outcome", [
    "group",
    "deployment",
    "outcome",
  ]);
  readonly #refusals = this.#counter("refusals_total", "Requests refused by Switchyard itself", ["code"]);
  readonly #tokens = this.#counter("tokens_total", "Tokens that providers counted", [
    "group",
    "deployment",
    "key",
    "kind",
  ]);
  readonly #cost = this.#counter(
    "cost_usd_total",
    "What answers cost, by the config's prices or their providers' own charge",
    ["group", "deployment", "key"],
  );
  readonly #inFlight = this.#gauge("deployment_in_flight", "Requests in flight", ["group", "deployment"]);
  readonly #benched = this.#gauge("benches", "Benches in force", ["scope"]);
  readonly #bus = this.#gauge("bus_connected", "1 while the event bus is connected", []);
  readonly #dropped = this.#counter("bus_dropped_total", "Events dropped while the bus was away", []);
  readonly #revision = this.#gauge("config_revision", "Revision of the config in force", []);
  readonly #duration = this.#histogram("request_duration_seconds", "Request to last byte", DURATION_BUCKETS);
  readonly #firstByte = this.#histogram(
    "time_to_first_byte_seconds",
    "Request to first byte",
    FIRST_TOKEN_BUCKETS,
  );

  request(endpoint: string, group: string, status: string): Series {
    return this.#requests.labels(endpoint, group, status);
  }
  attempt(group: string, deployment: string, outcome: string): Series {
    return this.#attempts.labels(group, deployment, outcome);
  }
  refusal(code: string): Series {
    return this.#refusals.labels(code);
  }
  /** `kind`: input, its parts cached, cache_written and audio_input, output, its parts reasoning and audio_output. */
  tokens(group: string, deployment: string, key: string, kind: string): Series {
    return this.#tokens.labels(group, deployment, key, kind);
  }
  /** US dollars. */
  cost(group: string, deployment: string, key: string): Series {
    return this.#cost.labels(group, deployment, key);
  }
  inFlight(group: string, deployment: string): GaugeSeries {
    return this.#inFlight.labels(group, deployment);
  }
  benched(scope: string): GaugeSeries {
    return this.#benched.labels(scope);
  }
  get busConnected(): GaugeSeries {
    return this.#bus;
  }
  get busDropped(): Series {
    return this.#dropped;
  }
  get configRevision(): GaugeSeries {
    return this.#revision;
  }
  duration(endpoint: string): Observer {
    return this.#duration.labels(endpoint);
  }
  firstByte(endpoint: string): Observer {
    return this.#firstByte.labels(endpoint);
  }

  /** The Prometheus exposition format. */
  async render(): Promise<{ contentType: string; body: string }> {
    return { contentType: this.#registry.contentType, body: await this.#registry.metrics() };
  }

  #counter<L extends string>(name: string, help: string, labelNames: L[]): Counter<L> {
    return new Counter({ name: `switchyard_${name}`, help, labelNames, registers: [this.#registry] });
  }
  #gauge<L extends string>(name: string, help: string, labelNames: L[]): Gauge<L> {
    return new Gauge({ name: `switchyard_${name}`, help, labelNames, registers: [this.#registry] });
  }
  #histogram(name: string, help: string, buckets: number[]): Histogram<"endpoint"> {
    return new Histogram({
      name: `switchyard_${name}`,
      help,
      labelNames: ["endpoint"],
      buckets,
      registers: [this.#registry],
    });
  }
}

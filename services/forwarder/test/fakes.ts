import { create, fromBinary } from "@bufbuild/protobuf";
import type { Bus } from "@switchyard/bus";
import { createMemoryBus } from "@switchyard/bus";
import { errorClassFromWire } from "@switchyard/cluster";
import { LoadReportSchema, OutcomeBatchSchema, UsageBatchSchema } from "@switchyard/proto/events/v1/events";
import type { LoadReport, UsageEvent } from "@switchyard/proto/events/v1/events";
import type { Head, InferResponse, Trailer } from "@switchyard/proto/inference/v1/inference_service";
import {
  AttemptSchema,
  DecideResponseSchema,
  RefusalSchema,
} from "@switchyard/proto/routing/v1/routing_service";
import type { Attempt, DecideRequest, DecideResponse } from "@switchyard/proto/routing/v1/routing_service";
import type { ConnectError, Sink } from "@switchyard/rpc";
import type { LogFields, Logger } from "@switchyard/telemetry";
import type {
  Exchange,
  ExchangeHandler,
  ExchangePhase,
  ExchangeRequest,
  Upstream,
} from "@switchyard/upstream";
import { ExchangeError } from "@switchyard/upstream";

/** An exchange in the test's hands. Keeps upstream's promises: one end, and nothing after `abort()`. */
export class FakeExchange implements Exchange {
  readonly request: ExchangeRequest;
  readonly #handler: ExchangeHandler;
  paused = false;
  aborted = false;
  over = false;

  constructor(request: ExchangeRequest, handler: ExchangeHandler) {
    this.request = request;
    this.#handler = handler;
  }

  pause(): void {
    this.paused = true;
  }
  resume(): void {
    this.paused = false;
  }
  abort(): void {
    if (!this.over) this.aborted = true;
    this.over = true;
  }

  head(status: number, headers: readonly string[] = ["content-type", "application/json"]): this {
    if (!this.over) this.#handler.onHead({ status, headers });
    return this;
  }
  stream(): this {
    return this.head(200, ["content-type", "text/event-stream"]);
  }
  data(text: string | Uint8Array): this {
    if (!this.over) this.#handler.onData(typeof text === "string" ? new TextEncoder().encode(text) : text);
    return this;
  }
  end(): void {
    if (this.over) return;
    this.over = true;
    this.#handler.onEnd();
  }
  error(phase: ExchangePhase, code?: string): void {
    if (this.over) return;
    this.over = true;
    this.#handler.onError(new ExchangeError(phase, code));
  }
  /** A whole answer. */
  answer(status: number, body: string, headers?: readonly string[]): void {
    this.head(status, headers).data(body).end();
  }
}

export class FakeUpstream implements Upstream {
  readonly exchanges: FakeExchange[] = [];
  closed = false;

  send(request: ExchangeRequest, handler: ExchangeHandler): Exchange {
    const exchange = new FakeExchange(request, handler);
    this.exchanges.push(exchange);
    return exchange;
  }
  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }
  stats(): ReturnType<Upstream["stats"]> {
    return { origins: 0, connecting: 0, active: 0, idle: 0, queued: 0, connectionsOpened: 0, resent: 0 };
  }
  at(index: number): FakeExchange {
    const exchange = this.exchanges[index];
    if (exchange === undefined) throw new Error(`there were ${this.exchanges.length} exchanges`);
    return exchange;
  }
}

/** What one decision is to be. */
export type Script = (request: DecideRequest) => DecideResponse | Promise<DecideResponse>;

let decisions = 0;

/** A decision to attempt `deployment`, e.g. `a/m`. */
export function attempt(deployment: string, more: Partial<Attempt> = {}, lastOutcome = ""): Script {
  const slash = deployment.indexOf("/");
  decisions += 1;
  const value = create(AttemptSchema, {
    decisionId: `d${decisions}`,
    group: "g",
    project: "default",
    groupKey: "default/g",
    deployment,
    provider: deployment.slice(0, slash),
    model: deployment.slice(slash + 1),
    strategy: "weighted",
    next: "b/m",
    step: "pick",
  });
  Object.assign(value, more);
  return () => respond({ decision: { case: "attempt", value }, lastOutcome });
}

export function refuse(
  status: number,
  code: string,
  more: { exhausted?: boolean; final?: boolean; lastOutcome?: string } = {},
): Script {
  const { exhausted = false, final = false } = more;
  const value = create(RefusalSchema, { status, code, message: code, exhausted, final });
  return () => respond({ decision: { case: "refusal", value }, lastOutcome: more.lastOutcome ?? "" });
}

/** E7's refusal: something was called and nothing served. */
export const EXHAUSTED = refuse(502, "upstream_unreachable", { exhausted: true });

function respond(parts: Pick<DecideResponse, "decision" | "lastOutcome">): DecideResponse {
  const response = create(DecideResponseSchema, {
    continuation: new Uint8Array([7]),
    configRevision: 3n,
    keyName: "key-name",
    team: "team-name",
    lastOutcome: parts.lastOutcome,
  });
  response.decision = parts.decision;
  return response;
}

/** A caller's end of an answer: keeps what came, and counts what must not come. */
export class FakeSink implements Sink<InferResponse> {
  head: Head | undefined;
  trailer: Trailer | undefined;
  ends = 0;
  failed: ConnectError | undefined;
  /** Calls after the end. */
  late = 0;
  full = false;
  #bytes: Uint8Array[] = [];
  #drain: (() => void) | undefined;

  get over(): boolean {
    return this.ends > 0 || this.failed !== undefined;
  }
  get body(): string {
    return Buffer.concat(this.#bytes).toString();
  }
  header(name: string): string | undefined {
    return this.head?.headers.find((header) => header.name === name)?.value;
  }
  get attempts(): { deployment: string; outcome: string; error?: string; message?: string }[] {
    return JSON.parse(this.header("x-ants-attempts") ?? "[]");
  }

  send(message: InferResponse): boolean {
    if (this.over) {
      this.late += 1;
      return false;
    }
    const { part } = message;
    if (part.case === "head") this.head = part.value;
    else if (part.case === "chunk") this.#bytes.push(part.value);
    else if (part.case === "trailer") this.trailer = part.value;
    return !this.full;
  }
  end(): void {
    if (this.over) this.late += 1;
    if (this.trailer === undefined) throw new Error("an answer ended without its trailer");
    this.ends += 1;
  }
  fail(error: ConnectError): void {
    if (this.over) this.late += 1;
    this.failed = error;
  }
  onDrain(listener: () => void): void {
    this.#drain = listener;
  }
  drain(): void {
    this.full = false;
    this.#drain?.();
  }
}

export class FakeLogger implements Logger {
  readonly lines: { readonly level: string; readonly message: string; readonly fields: LogFields }[] = [];
  debug = (message: string, fields: LogFields = {}): void => this.#add("debug", message, fields);
  info = (message: string, fields: LogFields = {}): void => this.#add("info", message, fields);
  warn = (message: string, fields: LogFields = {}): void => this.#add("warn", message, fields);
  error = (message: string, fields: LogFields = {}): void => this.#add("error", message, fields);
  child = (): Logger => this;
  flush = (): void => {};

  #add(level: string, message: string, fields: LogFields): void {
    this.lines.push({ level, message, fields });
  }
  of(message: string): LogFields[] {
    return this.lines.filter((line) => line.message === message).map(({ fields }) => fields);
  }
}

/** A bus that keeps what was published. */
export class Published {
  readonly bus: Bus = createMemoryBus();
  readonly #payloads: { readonly subject: string; readonly payload: Uint8Array }[] = [];

  constructor() {
    const publish = this.bus.publish.bind(this.bus);
    this.bus.publish = (subject, payload) => {
      this.#payloads.push({ subject, payload });
      publish(subject, payload);
    };
  }

  /** One line for each attempt: deployment and class, `ok` for successes. */
  get outcomes(): string[] {
    return this.#of("outcome").flatMap((payload) => {
      const batch = fromBinary(OutcomeBatchSchema, payload);
      return [
        ...batch.outcomes.map((one) => `${one.deployment}=${errorClassFromWire(one.error) ?? "ok"}`),
        ...batch.successes.flatMap((sum) =>
          Array.from({ length: Number(sum.count) }, () => `${sum.deployment}=ok`),
        ),
      ];
    });
  }
  /** What was told of load, in order; goodbyes too. */
  get loads(): LoadReport[] {
    return this.#of("load").map((payload) => fromBinary(LoadReportSchema, payload));
  }
  get usage(): UsageEvent[] {
    return this.#of("usage").flatMap((payload) => fromBinary(UsageBatchSchema, payload).events);
  }
  get all(): string {
    return this.#payloads.map(({ payload }) => Buffer.from(payload).toString("latin1")).join("\n");
  }

  #of(kind: string): Uint8Array[] {
    return this.#payloads
      .filter(({ subject }) => subject.startsWith(`switchyard.v1.${kind}.`))
      .map(({ payload }) => payload);
  }
}

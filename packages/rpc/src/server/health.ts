import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type Health,
  HealthCheckResponse_ServingStatus as Status,
  type HealthCheckResponse,
  HealthCheckResponseSchema,
  HealthListResponseSchema,
} from "@switchyard/proto/grpc/health/v1/health";
import type { ServiceImpl, Sink } from "../service.ts";

interface Watcher {
  service: string;
  sink: Sink<HealthCheckResponse>;
}

/** `grpc.health.v1.Health`: a status per service, and "" for the process. */
export class HealthStatus {
  readonly #statuses = new Map<string, Status>();
  #ending = false;
  readonly #watchers = new Set<Watcher>();

  constructor(services: readonly string[], serving: boolean) {
    for (const name of ["", ...services])
      this.#statuses.set(name, serving ? Status.SERVING : Status.NOT_SERVING);
  }

  /** All services when none is named. */
  set(serving: boolean, service?: string): void {
    const status = serving ? Status.SERVING : Status.NOT_SERVING;
    for (const name of service === undefined ? [...this.#statuses.keys()] : [service]) {
      if (this.#statuses.get(name) === status) continue;
      this.#statuses.set(name, status);
      for (const watcher of this.#watchers) if (watcher.service === name) watcher.sink.send(answer(status));
    }
  }

  /** Ends all watches, and every later one after its first answer, so that none holds a drain up. */
  endWatches(): void {
    this.#ending = true;
    for (const { sink } of this.#watchers) sink.end();
    this.#watchers.clear();
  }

  readonly impl: ServiceImpl<typeof Health> = {
    check: ({ service }) => {
      const status = this.#statuses.get(service);
      if (status === undefined) throw new ConnectError("unknown service", Code.NotFound);
      return answer(status);
    },
    list: () => {
      const statuses = Object.fromEntries(
        [...this.#statuses].map(([name, status]) => [name, answer(status)]),
      );
      return create(HealthListResponseSchema, { statuses });
    },
    watch: ({ service }, sink, call) => {
      const watcher: Watcher = { service, sink };
      this.#watchers.add(watcher);
      call.onCancel(() => this.#watchers.delete(watcher));
      sink.send(answer(this.#statuses.get(service) ?? Status.SERVICE_UNKNOWN));
      if (this.#ending) {
        this.#watchers.delete(watcher);
        sink.end();
      }
    },
  };
}

function answer(status: Status): HealthCheckResponse {
  return create(HealthCheckResponseSchema, { status });
}

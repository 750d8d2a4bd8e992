import { randomUUID } from "node:crypto";
import { readRequestFacts } from "@switchyard/providers";
import type {
  InferenceService,
  InferRequest,
  InferResponse,
} from "@switchyard/proto/inference/v1/inference_service";
import { failure, readFailure } from "@switchyard/rpc";
import type { Call, ServiceImpl, Sink } from "@switchyard/rpc";
import type { Readiness } from "@switchyard/telemetry";
import { Accounts } from "./accounts.ts";
import { headerOf } from "./bytes.ts";
import type { ForwarderDeps } from "./deps.ts";
import { endpointOf } from "./endpoints.ts";
import { isModelsPath, serveModels } from "./models.ts";
import { OutcomeReporter } from "./outcome-reporter.ts";
import { readOwnKey } from "./own-key.ts";
import { RequestRun } from "./request-run.ts";
import type { RunDeps } from "./request-run.ts";
import { traceRefusal } from "./request-trace.ts";

export interface Forwarder {
  readonly inference: Pick<ServiceImpl<typeof InferenceService>, "infer">;
  readiness(): Readiness;
  /** Publishes what is left to tell. Requests that still run are the server's to drain first. */
  close(): Promise<void>;
}

/** Serves requests, one attempt at a time; holds no state between requests. */
export function createForwarder(deps: ForwarderDeps): Forwarder {
  const { bus, name, secrets, logger } = deps;
  const accounts = new Accounts({ bus, name, secrets, logger });
  const reporter = new OutcomeReporter({ bus, name, now: deps.now });
  const run: RunDeps = { ...deps, accounts, reporter };
  let revision: number | undefined;
  const stop = deps.config.subscribe((applied) => {
    revision = applied.revision;
    accounts.use(applied.config);
  });
  return {
    inference: {
      infer: (request, sink, call) => {
        try {
          infer(run, request, sink, call);
        } catch (error) {
          recordRefusal(run, request, error);
          throw error;
        }
      },
    },
    readiness: () => ({
      ready: revision !== undefined,
      detail: { bus: bus.state, revision: revision ?? 0, providers_not_ready: accounts.notReady().length },
    }),
    close: () => {
      stop();
      accounts.close();
      reporter.close();
      return deps.upstream.close();
    },
  };
}

/** A request that is refused before it runs has its log line too; path and text are the caller's, so they are left out. */
function recordRefusal(deps: RunDeps, request: InferRequest, error: unknown): void {
  const { requestId } = request;
  const { status, code } = readFailure(error);
  deps.metrics.refusal(code).inc();
  deps.logger.info("request", { request: requestId, status, error: code });
  if (deps.tracer !== undefined) traceRefusal(deps.tracer, request, status, code);
}

function infer(deps: RunDeps, request: InferRequest, sink: Sink<InferResponse>, call: Call): void {
  const { method, path } = request;
  if (isModelsPath(path) && (method === "GET" || method === "HEAD")) {
    serveModels(deps.router, request, sink, call);
    return;
  }
  const endpoint = endpointOf(method, path);
  if (endpoint === undefined) {
    if (isModelsPath(path) || endpointOf("POST", path) !== undefined) {
      throw failure("method_not_allowed", `${path} can't be called with ${method}`, { status: 405 });
    }
    throw failure("not_found", `${method} ${path} is not served`, { status: 404 });
  }
  const read = readRequestFacts(endpoint, request.body);
  if (!read.ok) {
    const { code, message, param } = read.fault;
    throw failure(code, message, { status: 400, metadata: param === null ? {} : { param } });
  }
  const headers = request.headers.flatMap(({ name, value }) => [name, value]);
  const run = new RequestRun(
    deps,
    {
      id: request.requestId === "" ? `req_${randomUUID()}` : request.requestId,
      infer: request,
      facts: read.facts,
      headers,
      ownKey: readOwnKey(headerOf(headers, "x-provider-key")),
      arrivedAt: deps.now(),
    },
    sink,
    call,
  );
  run.start();
}

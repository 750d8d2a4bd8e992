import { randomUUID } from "node:crypto";
import type {
  InferenceService,
  InferRequest,
  InferResponse,
} from "@switchyard/proto/inference/v1/inference_service";
import { nativePaths } from "@switchyard/config";
import { readFailure } from "@switchyard/rpc";
import type { Call, ServiceImpl, Sink } from "@switchyard/rpc";
import type { Readiness } from "@switchyard/telemetry";
import { Accounts } from "./accounts.ts";
import { AffinityReader } from "./request/affinity-reader.ts";
import { AffinityReasons } from "./request/affinity-reasons.ts";
import { readAsked } from "./request/asked.ts";
import { headerOf } from "./bytes.ts";
import type { ForwarderDeps } from "./deps.ts";
import { LoadReporter } from "./report/load-reporter.ts";
import { isModelsPath, serveModels } from "./reply/models.ts";
import { KeptResponses } from "./request/kept-responses.ts";
import { OriginMarks } from "./request/origin-marks.ts";
import { OutcomeReporter } from "./report/outcome-reporter.ts";
import { readOwnKey } from "./request/own-key.ts";
import { refuseAtOnce } from "./run/refuse-at-once.ts";
import { RequestRun } from "./run/request-run.ts";
import type { RunDeps } from "./run/run-deps.ts";
import { readSdkFacts } from "./request/sdk-headers.ts";
import { findKept } from "./request/stored-request.ts";
import { traceRefusal } from "./report/request-trace.ts";
import type { Serve } from "./typed/inner-call.ts";
import { createTypedMethods } from "./typed/typed-methods.ts";

export interface Forwarder {
  readonly inference: ServiceImpl<typeof InferenceService>;
  readiness(): Readiness;
  /** Publishes what is left to tell. Requests that still run are the server's to drain first. */
  close(): Promise<void>;
}

interface ForwarderParts extends RunDeps {
  readonly marks: OriginMarks;
  readonly affinity: AffinityReader;
  /** Of the config in force. */
  readonly nativePaths: () => ReadonlySet<string>;
}

/** Serves requests, one attempt at a time; holds no state between requests. */
export function createForwarder(deps: ForwarderDeps): Forwarder {
  const { bus, name, secrets, logger, openTokens } = deps;
  const accounts = new Accounts({ bus, name, secrets, logger, openTokens });
  const reporter = new OutcomeReporter({ bus, name, now: deps.now });
  const marks = new OriginMarks();
  const responses = new KeptResponses({ bus, logger });
  const load = new LoadReporter({ bus, name, now: deps.now });
  const affinity = new AffinityReader();
  const reasons = new AffinityReasons();
  let native: ReadonlySet<string> = new Set();
  let revision: number | undefined;
  const shared = { accounts, reporter, responses, marks, load, affinity, reasons };
  const run: ForwarderParts = { ...deps, ...shared, nativePaths: () => native };
  const stop = deps.config.subscribe((applied) => {
    revision = applied.revision;
    native = nativePaths(applied.config);
    accounts.use(applied.config);
    marks.use(applied.config);
    affinity.use(applied.config);
    reasons.use(applied.config);
  });
  const serve: Serve = (request, sink, call) => {
    try {
      infer(run, request, sink, call);
    } catch (error) {
      refuseAtOnce(deps.router, error, sink, call, (told) => recordRefusal(run, request, told));
    }
  };
  return {
    inference: { infer: serve, ...createTypedMethods(serve) },
    readiness: () => ({
      ready: revision !== undefined,
      detail: { bus: bus.state, revision: revision ?? 0, providers_not_ready: accounts.notReady().length },
    }),
    close: () => {
      stop();
      accounts.close();
      reporter.close();
      load.close();
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

function infer(deps: ForwarderParts, request: InferRequest, sink: Sink<InferResponse>, call: Call): void {
  const { method, path } = request;
  if (isModelsPath(path) && (method === "GET" || method === "HEAD")) {
    serveModels(deps.router, request, sink, call);
    return;
  }
  const { facts, storedCall, nativeCall } = readAsked(request, deps.nativePaths());
  const headers = request.headers.flatMap(({ name, value }) => [name, value]);
  const arrivedAt = deps.now();
  const asked = {
    id: request.requestId === "" ? `req_${randomUUID()}` : request.requestId,
    infer: request,
    facts,
    headers,
    ownKey: readOwnKey(headerOf(headers, "x-provider-key")),
    affinity: deps.affinity.read({ facts, body: request.body, query: request.query, headers }),
    storedCall,
    nativeCall,
    originProvider: deps.marks.originOf(facts, request.body),
    arrivedAt,
    sdk: readSdkFacts(headers, arrivedAt, call.deadline),
  };
  findKept(facts, deps.responses, (kept) => {
    const run = new RequestRun(deps, { ...asked, kept }, sink, call);
    try {
      run.start();
    } catch (error) {
      run.onFault(error);
    }
  });
}

export { createLogger, SILENT } from "./logger.ts";
export type { LogFields, Logger, LogLevel } from "./logger.ts";
export { Metrics } from "./metrics.ts";
export type { GaugeSeries, Observer, Series } from "./metrics.ts";
export { startOpsServer } from "./ops-server.ts";
export type { OpsServer, Readiness } from "./ops-server.ts";
export { openTracer } from "./tracing/open-tracer.ts";
export type {
  AttemptSpan,
  AttemptSpanEnd,
  AttemptStart,
  RequestEnd,
  RequestSpan,
  RequestStart,
  Tracer,
} from "./tracing/tracer.ts";

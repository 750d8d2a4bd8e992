import type { Logger } from "../logger.ts";
import { readTraceSettings } from "./settings.ts";
import type { Environment } from "./settings.ts";
import type { Tracer } from "./tracer.ts";

/**
 * The tracer that the `OTEL_*` variables ask for; undefined when they ask for none. OpenTelemetry is loaded only then.
 * What it can't do is logged and traces nothing: a process serves without a collector.
 */
export async function openTracer(options: {
  readonly env: Environment;
  /** `service.name` where no variable says it. */
  readonly service: string;
  readonly version: string;
  readonly logger: Logger;
}): Promise<Tracer | undefined> {
  const { env, logger } = options;
  try {
    const settings = readTraceSettings(env);
    if (settings === undefined) return undefined;
    const { startTracer } = await import("./otel-sdk.ts");
    const tracer = startTracer(settings, options);
    logger.info("tracing is on", { protocol: settings.protocol, sampler: settings.sampler.name });
    return tracer;
  } catch (error) {
    const message = error instanceof RangeError ? error.message : "OpenTelemetry could not be started";
    logger.error("tracing is off", { error: message });
    return undefined;
  }
}

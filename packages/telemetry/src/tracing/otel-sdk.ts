import { diag, DiagLogLevel } from "@opentelemetry/api";
import { setGlobalErrorHandler } from "@opentelemetry/core";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Sampler } from "@opentelemetry/sdk-trace";
import type { Logger } from "../logger.ts";
import { OtelTracer } from "./otel-tracer.ts";
import type { TraceSettings } from "./settings.ts";
import type { Tracer } from "./tracer.ts";

/** A collector that is away fails every few seconds; one line a minute tells enough, ms. */
const TELL_EVERY_MS = 60_000;

/** Starts OpenTelemetry's SDK: spans are queued, bounded, and exported in batches; nothing waits for that. */
export function startTracer(
  settings: TraceSettings,
  options: { readonly service: string; readonly version: string; readonly logger: Logger },
): Tracer {
  tellFaults(options.logger);
  const exporter = settings.protocol === "http/json" ? new JsonExporter() : new ProtobufExporter();
  const named = resourceFromAttributes({
    ...(settings.namesService ? {} : { "service.name": options.service }),
    "service.version": options.version,
  });
  const detected = detectResources({
    detectors: [serviceInstanceIdDetector, resourceAttributesEnvDetector, serviceNameEnvDetector],
  });
  const provider = new TracerProvider({
    resource: defaultResource().merge(named).merge(detected),
    sampler: samplerOf(settings.sampler),
    spanProcessors: [new BatchSpanProcessor({ ...settings.batch, exporter })],
  });
  return new OtelTracer(provider, options.version);
}

/** Throws a RangeError for a sampler that is not offered. */
export function samplerOf({ name, argument }: TraceSettings["sampler"]): Sampler {
  const parentBased = name.startsWith("parentbased_");
  const root = rootSampler(parentBased ? name.slice("parentbased_".length) : name, argument);
  if (root === undefined) throw new RangeError(`OTEL_TRACES_SAMPLER: "${name}" is not offered`);
  return parentBased ? new ParentBasedSampler({ root }) : root;
}

function rootSampler(name: string, argument: string | undefined): Sampler | undefined {
  switch (name) {
    case "always_on":
      return new AlwaysOnSampler();
    case "always_off":
      return new AlwaysOffSampler();
    case "traceidratio": {
      const ratio = Number(argument ?? "1");
      if (!(ratio >= 0 && ratio <= 1)) {
        throw new RangeError(`OTEL_TRACES_SAMPLER_ARG: "${argument}" is not a number from 0 to 1`);
      }
      return new TraceIdRatioBasedSampler(ratio);
    }
    default:
      return undefined;
  }
}

/** The SDK's own words may quote what a collector said, or its address with a token in it: they are not repeated. */
function tellFaults(logger: Logger): void {
  let toldAt = Number.NEGATIVE_INFINITY;
  const tell = (message: string): void => {
    const now = performance.now();
    if (now - toldAt < TELL_EVERY_MS) return;
    toldAt = now;
    logger.warn(message);
  };
  setGlobalErrorHandler(() => tell("tracing: spans could not be exported"));
  const quiet = (): void => {};
  const warn = (message: string): void => {
    if (message.startsWith("Dropped ")) tell("tracing: spans were dropped, the collector is too slow");
  };
  diag.setLogger({ error: quiet, warn, info: quiet, debug: quiet, verbose: quiet }, DiagLogLevel.WARN);
}

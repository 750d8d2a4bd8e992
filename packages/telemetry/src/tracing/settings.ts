/** The environment, by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where spans go and which ones; of OpenTelemetry's general variables, read once at the start. */
export interface TraceSettings {
  readonly protocol: "http/protobuf" | "http/json";
  readonly sampler: { readonly name: string; readonly argument: string | undefined };
  /** `service.name` is set by a variable of the operator's. */
  readonly namesService: boolean;
  /** Of the batch processor; spans beyond the queue are dropped. */
  readonly batch: {
    readonly scheduledDelayMillis: number;
    readonly exportTimeoutMillis: number;
    readonly maxQueueSize: number;
    readonly maxExportBatchSize: number;
  };
}

const PROTOCOLS = ["http/protobuf", "http/json"] as const;

/** What the variables ask for; undefined when tracing is off. Throws a RangeError for what is not offered. */
export function readTraceSettings(env: Environment): TraceSettings | undefined {
  const value = (name: string): string | undefined => env[name]?.trim() || undefined;
  if (value("OTEL_SDK_DISABLED")?.toLowerCase() === "true") return undefined;
  const endpoint = value("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") ?? value("OTEL_EXPORTER_OTLP_ENDPOINT");
  const exporter = value("OTEL_TRACES_EXPORTER");
  if (exporter === "none" || endpoint === undefined) return undefined;
  if (exporter !== undefined && exporter !== "otlp") {
    throw new RangeError(`OTEL_TRACES_EXPORTER: "${exporter}" is not offered, only otlp and none are`);
  }
  return {
    protocol: protocolOf(value),
    sampler: {
      name: value("OTEL_TRACES_SAMPLER") ?? "parentbased_always_on",
      argument: value("OTEL_TRACES_SAMPLER_ARG"),
    },
    namesService:
      value("OTEL_SERVICE_NAME") !== undefined ||
      /(?:^|,)\s*service\.name\s*=/u.test(env["OTEL_RESOURCE_ATTRIBUTES"] ?? ""),
    batch: {
      scheduledDelayMillis: number(value("OTEL_BSP_SCHEDULE_DELAY"), 5_000),
      exportTimeoutMillis: number(value("OTEL_BSP_EXPORT_TIMEOUT"), 30_000),
      maxQueueSize: number(value("OTEL_BSP_MAX_QUEUE_SIZE"), 2_048),
      maxExportBatchSize: number(value("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"), 512),
    },
  };
}

function protocolOf(value: (name: string) => string | undefined): TraceSettings["protocol"] {
  const name =
    value("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") ?? value("OTEL_EXPORTER_OTLP_PROTOCOL") ?? "http/protobuf";
  const known = PROTOCOLS.find((protocol) => protocol === name);
  if (known !== undefined) return known;
  throw new RangeError(
    `OTEL_EXPORTER_OTLP_PROTOCOL: "${name}" is not offered, only ${PROTOCOLS.join(" and ")} are`,
  );
}

/** A number that makes no sense counts as unset, as the specification has it. */
function number(text: string | undefined, otherwise: number): number {
  const value = Number(text);
  return text !== undefined && Number.isSafeInteger(value) && value > 0 ? value : otherwise;
}

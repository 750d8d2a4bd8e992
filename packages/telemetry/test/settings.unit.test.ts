import { describe, expect, it } from "vitest";
import { samplerOf } from "../src/tracing/otel-sdk.ts";
import { readTraceSettings } from "../src/tracing/settings.ts";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };

describe("OTEL_* variables", () => {
  it.each([
    [{}],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: " " }],
    [{ OTEL_SERVICE_NAME: "gateway", OTEL_TRACES_EXPORTER: "otlp" }],
    [{ ...ENDPOINT, OTEL_SDK_DISABLED: "TRUE" }],
    [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: "none" }],
  ])("trace nothing: %j", (env) => {
    expect(readTraceSettings(env)).toBeUndefined();
  });

  it("are OpenTelemetry's defaults where they say nothing", () => {
    expect(readTraceSettings(ENDPOINT)).toEqual({
      protocol: "http/protobuf",
      sampler: { name: "parentbased_always_on", argument: undefined },
      namesService: false,
      batch: {
        scheduledDelayMillis: 5_000,
        exportTimeoutMillis: 30_000,
        maxQueueSize: 2_048,
        maxExportBatchSize: 512,
      },
    });
  });

  it("are honoured: protocol, sampler, name, batches; those for traces before those for all", () => {
    const settings = readTraceSettings({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://127.0.0.1:4318/v1/traces",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json",
      OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0.25",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=test, service.name=gateway",
      OTEL_BSP_SCHEDULE_DELAY: "20",
      OTEL_BSP_MAX_QUEUE_SIZE: "-1",
    });
    expect(settings?.protocol).toBe("http/json");
    expect(settings?.sampler).toEqual({ name: "parentbased_traceidratio", argument: "0.25" });
    expect(settings?.namesService).toBe(true);
    expect(settings?.batch).toMatchObject({ scheduledDelayMillis: 20, maxQueueSize: 2_048 });
  });

  it.each([
    [{ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, "OTEL_EXPORTER_OTLP_PROTOCOL"],
    [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: "zipkin" }, "OTEL_TRACES_EXPORTER"],
  ])("name what is not offered: %j", (env, variable) => {
    expect(() => readTraceSettings(env)).toThrow(variable);
  });

  it.each([
    ["always_on", undefined, "AlwaysOnSampler"],
    ["always_off", undefined, "AlwaysOffSampler"],
    ["traceidratio", "0.5", "TraceIdRatioBased{0.5}"],
    ["parentbased_always_off", undefined, "ParentBased{root=AlwaysOffSampler"],
    ["parentbased_traceidratio", undefined, "ParentBased{root=TraceIdRatioBased{1}"],
  ])("choose the sampler %s(%s)", (name, argument, said) => {
    expect(samplerOf({ name, argument }).toString()).toContain(said);
  });

  it.each([
    ["jaeger_remote", undefined],
    ["traceidratio", "2"],
    ["traceidratio", "some"],
  ])("refuse the sampler %s(%s)", (name, argument) => {
    expect(() => samplerOf({ name, argument })).toThrow(RangeError);
  });
});

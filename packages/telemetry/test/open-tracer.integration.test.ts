import { once } from "node:events";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { openTracer, SILENT } from "../src/index.ts";
import type { Logger, Tracer } from "../src/index.ts";

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

/** A collector; returns what it got. */
async function collector(answers: boolean): Promise<{ readonly paths: string[]; readonly bodies: string[] }> {
  const paths: string[] = [];
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      paths.push([request.url, request.headers["content-type"], request.headers["x-collector"]].join(" "));
      bodies.push(Buffer.concat(chunks).toString());
      if (answers) response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", `http://127.0.0.1:${port}`);
  return { paths, bodies };
}

async function open(logger: Logger = SILENT): Promise<Tracer> {
  const tracer = await openTracer({ env: process.env, service: "switchyard", version: "1.2.3", logger });
  if (tracer === undefined) throw new Error("tracing is off");
  return tracer;
}

function traceOne(tracer: Tracer): void {
  const start = { headers: [], method: "POST", route: undefined, operation: "chat", stream: false };
  const attempt = tracer.startRequest({ ...start, requestId: "req_1" }).startAttempt({
    operation: "chat",
    family: "openai",
    model: "m",
    stream: false,
    deployment: "a/m",
    group: "g",
    step: "pick",
    fallbackKind: "",
    resends: 0,
  });
  attempt.end({ status: 200, error: undefined, model: undefined, usage: undefined });
}

describe("openTracer", () => {
  it("exports at the end what is still held, with the operator's names and headers", async () => {
    const { paths, bodies } = await collector(true);
    vi.stubEnv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
    vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", "x-collector=token");
    vi.stubEnv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test");
    const tracer = await open();
    traceOne(tracer);
    await tracer.close(5_000);
    expect(paths).toEqual(["/v1/traces application/json token"]);
    const [{ resource }] = (JSON.parse(bodies[0] as string) as OtlpBody).resourceSpans;
    const named = Object.fromEntries(resource.attributes.map(({ key, value }) => [key, value.stringValue]));
    expect(named).toMatchObject({
      "service.name": "switchyard",
      "service.version": "1.2.3",
      "service.instance.id": expect.any(String),
      "deployment.environment.name": "test",
    });
  });

  it("speaks protobuf unless told otherwise, and takes the service's name from the operator", async () => {
    const { paths, bodies } = await collector(true);
    vi.stubEnv("OTEL_SERVICE_NAME", "my-gateway");
    const tracer = await open();
    traceOne(tracer);
    await tracer.close(5_000);
    expect(paths).toEqual(["/v1/traces application/x-protobuf "]);
    expect(bodies[0]).toContain("my-gateway");
  });

  it("ends in time also where the collector does not answer", async () => {
    await collector(false);
    const tracer = await open();
    traceOne(tracer);
    await expect(tracer.close(50)).resolves.toBeUndefined();
  });

  it("is off, with a line in the log, where it is asked for what is not offered", async () => {
    await collector(true);
    vi.stubEnv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    const said: unknown[] = [];
    const logger: Logger = {
      ...SILENT,
      error: (message, fields) => void said.push(message, fields?.["error"]),
    };
    const tracer = await openTracer({ env: process.env, service: "s", version: "1", logger });
    expect(tracer).toBeUndefined();
    expect(said).toEqual(["tracing is off", expect.stringContaining('"grpc" is not offered')]);
  });
});

interface OtlpBody {
  readonly resourceSpans: readonly [
    {
      readonly resource: { readonly attributes: readonly { key: string; value: { stringValue: string } }[] };
    },
  ];
}

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { eventually } from "@switchyard/testkit";

type Value = {
  readonly stringValue?: string;
  readonly intValue?: number;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
};

interface Encoded {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly { readonly key: string; readonly value: Value }[];
  readonly status: { readonly code: number };
}

/** A span as it was exported. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: "server" | "client";
  readonly failed: boolean;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
}

/** A collector of traces on a free loopback port, for OTLP in JSON. */
export class OtlpCollector implements AsyncDisposable {
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      this.#take(Buffer.concat(chunks).toString());
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  readonly #spans: CollectedSpan[] = [];
  /** Everything that was exported, as it came. */
  text = "";

  static async start(): Promise<OtlpCollector> {
    const collector = new OtlpCollector();
    collector.#server.listen(0, "127.0.0.1");
    await once(collector.#server, "listening");
    return collector;
  }

  /** Variables that send a process's traces here. */
  get env(): Readonly<Record<string, string>> {
    const { port } = this.#server.address() as AddressInfo;
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "20",
    };
  }

  /** The spans of one trace, the request's and then the attempts', once there are that many. */
  async trace(traceId: string, count: number): Promise<CollectedSpan[]> {
    const spans = (): CollectedSpan[] =>
      this.#spans.filter((span) => span.traceId === traceId).toSorted((a, b) => placeOf(a) - placeOf(b));
    return eventually(() => {
      const found = spans();
      if (found.length < count) throw new Error(`${found.length} of ${count} spans came`);
      return found;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  #take(body: string): void {
    this.text += body;
    const { resourceSpans } = JSON.parse(body) as {
      resourceSpans: { scopeSpans: { spans: Encoded[] }[] }[];
    };
    const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
    this.#spans.push(...spans.map(decode));
  }
}

function decode(span: Encoded): CollectedSpan {
  const attributes = span.attributes.map(({ key, value }) => [
    key,
    value.stringValue ?? value.doubleValue ?? value.boolValue ?? Number(value.intValue),
  ]);
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId || undefined,
    name: span.name,
    kind: span.kind === 2 ? "server" : "client",
    failed: span.status.code === 2,
    attributes: Object.fromEntries(attributes) as CollectedSpan["attributes"],
  };
}

/** Times tell no order: several spans begin within one millisecond. */
function placeOf({ kind, attributes }: CollectedSpan): number {
  return kind === "server" ? -1 : Number(attributes["http.request.resend_count"] ?? 0);
}

import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Metrics } from "./metrics.ts";

/** What `/readyz` tells. */
export interface Readiness {
  readonly ready: boolean;
  /** Shown as the JSON body, e.g. the bus's state and the config's revision. */
  readonly detail: Readonly<Record<string, string | number | boolean>>;
}

export interface OpsServer {
  readonly address: string;
  close(): Promise<void>;
}

/** Serves `/healthz`, `/readyz` and `/metrics`. Rejects when the port is taken, naming the address. */
export async function startOpsServer(options: {
  readonly host: string;
  readonly port: number;
  readonly metrics: Metrics;
  readonly readiness: () => Readiness;
  /** Called before metrics are rendered, to bring gauges up to date. */
  readonly refresh?: () => void;
}): Promise<OpsServer> {
  const server = createServer((request, response) => {
    const path = (request.url ?? "/").split("?", 1)[0];
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.writeHead(405, { allow: "GET, HEAD" }).end();
    } else if (path === "/healthz") {
      reply(response, 200, { status: "alive" });
    } else if (path === "/readyz") {
      const { ready, detail } = options.readiness();
      reply(response, ready ? 200 : 503, { status: ready ? "ready" : "not ready", ...detail });
    } else if (path === "/metrics") {
      options.refresh?.();
      options.metrics.render().then(
        ({ contentType, body }) => response.writeHead(200, { "content-type": contentType }).end(body),
        () => response.writeHead(500).end(),
      );
    } else {
      reply(response, 404, { error: "not found: there are /healthz, /readyz and /metrics" });
    }
  });
  server.keepAliveTimeout = 30_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const why =
        error.code === "EADDRINUSE"
          ? "is already in use"
          : `can't be listened on (${error.code ?? error.message})`;
      reject(new Error(`ops address ${options.host}:${options.port} ${why}`, { cause: error }));
    });
    server.listen(options.port, options.host, resolve);
  });
  const { address, port } = server.address() as AddressInfo;
  return {
    address: `${address.includes(":") ? `[${address}]` : address}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(`${JSON.stringify(body)}\n`);
}

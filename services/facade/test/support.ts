import type { InferRequest, InferResponse } from "@switchyard/proto/inference/v1/inference_service";
import type { Call, Sink } from "@switchyard/rpc";
import {
  type HeaderPair,
  rawHttp,
  type RawHttpClient,
  type RawResponse,
  rawRequest,
} from "@switchyard/testkit";
import { Metrics, SILENT } from "@switchyard/telemetry";
import { describe } from "vitest";
import { chunk, head, JSON_TYPE, TRAILER } from "./messages.ts";
import { createFacade, type Facade, type FacadeOptions } from "../src/index.ts";

export { chunk, head, JSON_TYPE, SSE, TRAILER } from "./messages.ts";

/** One call as the fake forwarder got it. */
export interface Received {
  readonly request: InferRequest;
  readonly sink: Sink<InferResponse>;
  readonly call: Call;
  /** When the caller left, ms of `performance.now()`. */
  leftAt: number | undefined;
}

export type Handler = (request: InferRequest, sink: Sink<InferResponse>, call: Call) => void;

/** A facade on a free port before a scripted `Infer`. */
export interface Bench extends AsyncDisposable {
  readonly port: number;
  readonly facade: Facade;
  readonly metrics: Metrics;
  readonly received: Received[];
  handler: Handler;
  /** Sends one request on its own connection and returns the answer. */
  ask(
    method: string,
    path: string,
    headers?: readonly HeaderPair[],
    body?: string | Uint8Array,
  ): Promise<RawResponse>;
  /** Opens a connection with the request on it. */
  open(bytes: Parameters<typeof rawHttp>[1], options?: Parameters<typeof rawHttp>[2]): Promise<RawHttpClient>;
}

export const MAX_BODY = 1024 * 1024;

/** Answers 200 with the body that it got. */
export const echo: Handler = (request, sink) => {
  sink.send(head(200, JSON_TYPE));
  sink.send(chunk(request.body));
  sink.send(TRAILER);
  sink.end();
};

export type OpenBench = (options?: Partial<FacadeOptions>) => Promise<Bench>;

/** Declares the tests twice: once with requests read by the fast lane, once with all read by node:http. */
export function forEachLane(declare: (bench: OpenBench) => void): void {
  describe.each([
    ["fast lane", true],
    ["node lane", false],
  ])("%s", (_name, fastLane) => {
    declare((options = {}) => bench({ fastLane, ...options }));
  });
}

export async function bench(options: Partial<FacadeOptions> = {}): Promise<Bench> {
  const received: Received[] = [];
  const metrics = new Metrics();
  const facade = createFacade({
    inference: {
      infer(request, sink, call) {
        const entry: Received = { request, sink, call, leftAt: undefined };
        call.onCancel(() => {
          entry.leftAt = performance.now();
        });
        received.push(entry);
        self.handler(request, sink, call);
      },
    },
    maxBodyBytes: MAX_BODY,
    logger: SILENT,
    metrics,
    ...options,
  });
  const address = await facade.listen({ host: "127.0.0.1", port: 0 });
  const port = Number(address.split(":")[1]);
  const clients: RawHttpClient[] = [];
  const self: Bench = {
    port,
    facade,
    metrics,
    received,
    handler: echo,
    async ask(method, path, headers = [], body = "") {
      const client = await self.open(rawRequest(method, path, headers, body), { head: method === "HEAD" });
      const answer = await client.response();
      await client.close();
      return answer;
    },
    async open(bytes, openOptions = {}) {
      const client = await rawHttp(port, bytes, openOptions);
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()));
      await facade.close(0);
    },
  };
  return self;
}

/** The error object of a body in OpenAI's shape, or Anthropic's. */
export function errorOf(answer: RawResponse): Record<string, unknown> {
  return (JSON.parse(answer.body.toString()) as { error: Record<string, unknown> }).error;
}

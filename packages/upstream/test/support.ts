import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterEach } from "vitest";
import {
  createUpstream,
  type Exchange,
  type ExchangeError,
  type ExchangeHead,
  type ExchangeRequest,
  type Upstream,
  type UpstreamOptions,
} from "../src/index.ts";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) {
    await clean();
  }
});

/** Runs after the test, last in first. */
export function cleanup(step: () => unknown): void {
  cleanups.push(step);
}

export function upstream(options: UpstreamOptions = {}): Upstream {
  const made = createUpstream(options);
  cleanup(() => made.close());
  return made;
}

export async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A provider that speaks raw HTTP. */
export interface RawProvider {
  readonly origin: string;
  readonly requests: string[];
  readonly sockets: Socket[];
}

/** `serve` gets every request once it is complete, with the number of its connection and its own on it, both from 1. */
export async function rawProvider(
  serve: (socket: Socket, place: { connection: number; request: number; text: string }) => void,
): Promise<RawProvider> {
  const requests: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    const connection = sockets.length;
    let nth = 0;
    let text = "";
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      const head = text.indexOf("\r\n\r\n");
      if (head === -1) {
        return;
      }
      const length = Number(/content-length: (\d+)/i.exec(text.slice(0, head))?.[1] ?? 0);
      if (text.length >= head + 4 + length) {
        requests.push(text);
        nth += 1;
        const whole = text;
        text = "";
        serve(socket, { connection, request: nth, text: whole });
      }
    });
  });
  const origin = await listen(server);
  cleanup(() => {
    for (const socket of sockets) {
      socket.destroy();
    }
    server.close();
  });
  return { origin, requests, sockets };
}

/** An answer with a length. */
export function reply(body: string | Uint8Array, ...headers: string[]): Buffer {
  const bytes = Buffer.from(body);
  const head = ["HTTP/1.1 200 OK", ...headers, `Content-Length: ${bytes.length}`, "", ""].join("\r\n");
  return Buffer.concat([Buffer.from(head), bytes]);
}

export function request(origin: string, over: Partial<ExchangeRequest> = {}): ExchangeRequest {
  return {
    method: "POST",
    origin,
    path: "/v1/x?key=SECRET",
    headers: ["content-type", "application/json", "authorization", "Bearer SECRET"],
    body: Buffer.from("{}"),
    connectTimeoutMs: 5000,
    headersTimeoutMs: 5000,
    idleTimeoutMs: 5000,
    ...over,
  };
}

/** What came of an exchange, and when. */
export interface Outcome {
  readonly exchange: Exchange;
  head: ExchangeHead | null;
  readonly chunks: Uint8Array[];
  error: ExchangeError | null;
  ends: number;
  readonly text: string;
  /** Resolves at the end, whichever. */
  readonly finished: Promise<void>;
  readonly headed: Promise<void>;
  ms: number;
}

export function run(
  through: Upstream,
  what: ExchangeRequest,
  on: { head?: (exchange: Exchange) => void; data?: (chunk: Uint8Array, exchange: Exchange) => void } = {},
): Outcome {
  const startedAt = performance.now();
  const end = Promise.withResolvers<void>();
  const head = Promise.withResolvers<void>();
  const chunks: Uint8Array[] = [];
  const finish = (): void => {
    outcome.ends += 1;
    outcome.ms = performance.now() - startedAt;
    end.resolve();
  };
  const exchange = through.send(what, {
    onHead: (got) => {
      outcome.head = got;
      head.resolve();
      on.head?.(exchange);
    },
    onData: (chunk) => {
      chunks.push(chunk);
      on.data?.(chunk, exchange);
    },
    onEnd: finish,
    onError: (error) => {
      outcome.error = error;
      finish();
    },
  });
  const outcome: Outcome = {
    exchange,
    head: null,
    chunks,
    error: null,
    ends: 0,
    get text() {
      return Buffer.concat(chunks).toString();
    },
    finished: end.promise,
    headed: head.promise,
    ms: 0,
  };
  return outcome;
}

/** Runs an exchange to its end. */
export async function exchanged(through: Upstream, what: ExchangeRequest): Promise<Outcome> {
  const outcome = run(through, what);
  await outcome.finished;
  return outcome;
}

export function header(outcome: Outcome, name: string): string | undefined {
  const headers = outcome.head?.headers ?? [];
  const at = headers.findIndex((value, i) => i % 2 === 0 && value === name);
  return at === -1 ? undefined : headers[at + 1];
}

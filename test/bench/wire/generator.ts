// A process of its own: sends prepared bytes over kept-alive connections, one request at a time on each.
import { connect, type Socket } from "node:net";
import { percentile } from "../measure/statistics.ts";
import { answerBytes, type Load, loadNamed } from "./loads.ts";
import { MessageReader } from "./message-reader.ts";

/** What the parent asks for. */
export interface RoundOrder {
  readonly port: number;
  readonly load: string;
  readonly connections: number;
  readonly durationMs: number;
  /** `name: value` lines beside the usual ones. */
  readonly headers: readonly string[];
}

/** What one round was like. */
export interface RoundReport {
  readonly requests: number;
  readonly errors: number;
  /** The first one's words. */
  readonly firstError: string | undefined;
  readonly elapsedMs: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** To the first token of a stream, median. */
  readonly ttftUs: number | undefined;
}

const CONNECT_TIMEOUT_MS = 5_000;
const DRAIN_TIMEOUT_MS = 20_000;

function requestBytes(order: RoundOrder, load: Load): Buffer {
  const lines = [
    "POST /v1/chat/completions HTTP/1.1",
    `host: 127.0.0.1:${order.port}`,
    "authorization: Bearer sk-bench",
    "content-type: application/json",
    "accept: application/json",
    "user-agent: switchyard-bench",
    `content-length: ${load.requestBody.length}`,
    ...order.headers,
  ];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), load.requestBody]);
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => {
    reject(new Error("no connection in time"));
  }, CONNECT_TIMEOUT_MS);
  socket.once("connect", () => {
    resolve(undefined);
  });
  socket.once("error", reject);
  try {
    await promise;
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

class Round {
  readonly #load: Load;
  readonly #request: Buffer;
  readonly #expected: number;
  readonly #latencies: number[] = [];
  readonly #firstTokens: number[] = [];
  readonly #done = Promise.withResolvers<undefined>();
  #running = 0;
  #errors = 0;
  #firstError: string | undefined;
  #start = 0;
  #stopAt = 0;
  #end = 0;

  constructor(order: RoundOrder, load: Load) {
    this.#load = load;
    this.#request = requestBytes(order, load);
    this.#expected = answerBytes(load);
  }

  async run(sockets: readonly Socket[], durationMs: number): Promise<RoundReport> {
    this.#running = sockets.length;
    this.#start = performance.now();
    this.#stopAt = this.#start + durationMs;
    const late = setTimeout(() => {
      this.#fail("answers still missing long after the round");
      this.#done.resolve(undefined);
    }, durationMs + DRAIN_TIMEOUT_MS);
    const streamMs = this.#load.paceMs * this.#load.answer.length;
    for (const [index, socket] of sockets.entries()) {
      // Paced streams that all start at once would measure a burst, not a stream's way.
      if (index === 0 || streamMs === 0) this.#drive(socket);
      else setTimeout(() => this.#drive(socket), (index * streamMs) / sockets.length);
    }
    await this.#done.promise;
    clearTimeout(late);
    const latencies = Float64Array.from(this.#latencies).toSorted();
    return {
      requests: latencies.length,
      errors: this.#errors,
      firstError: this.#firstError,
      elapsedMs: this.#end - this.#start,
      p50Us: percentile(latencies, 50) * 1_000,
      p99Us: percentile(latencies, 99) * 1_000,
      ttftUs: this.#load.stream
        ? percentile(Float64Array.from(this.#firstTokens).toSorted(), 50) * 1_000
        : undefined,
    };
  }

  #drive(socket: Socket): void {
    let sentAt = 0;
    let firstTokenAt = 0;
    let finished = false;
    const send = (): void => {
      firstTokenAt = 0;
      sentAt = performance.now();
      socket.write(this.#request);
    };
    const finish = (): void => {
      if (finished) return;
      finished = true;
      this.#running -= 1;
      this.#end = performance.now();
      if (this.#running === 0) this.#done.resolve(undefined);
    };
    const reader = new MessageReader({
      onHead: (head) => {
        if (!head.startsWith("HTTP/1.1 200")) this.#fail(head.split("\r\n", 1)[0] ?? "");
      },
      onBody: (bytes) => {
        if (firstTokenAt === 0 && bytes >= this.#load.firstTokenBytes) firstTokenAt = performance.now();
      },
      onEnd: (bytes) => {
        const now = performance.now();
        if (bytes !== this.#expected) this.#fail(`a body of ${bytes} bytes instead of ${this.#expected}`);
        this.#latencies.push(now - sentAt);
        this.#firstTokens.push((firstTokenAt === 0 ? now : firstTokenAt) - sentAt);
        if (now < this.#stopAt) send();
        else finish();
      },
    });
    socket.on("data", (bytes: Buffer) => {
      reader.push(bytes);
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      if (!finished) this.#fail("connection closed before the answer was whole");
      finish();
    });
    send();
  }

  #fail(words: string): void {
    this.#errors += 1;
    this.#firstError ??= words;
  }
}

async function runRound(order: RoundOrder): Promise<RoundReport> {
  const sockets = await Promise.all(Array.from({ length: order.connections }, () => open(order.port)));
  try {
    return await new Round(order, loadNamed(order.load)).run(sockets, order.durationMs);
  } finally {
    // After the report is on its way, so that the parent reads memory with the connections open.
    setImmediate(() => {
      for (const socket of sockets) socket.destroy();
    });
  }
}

process.on("message", (order: RoundOrder) => {
  runRound(order).then(
    (report) => process.send?.({ report }),
    (error: unknown) => process.send?.({ failure: error instanceof Error ? error.message : String(error) }),
  );
});
process.on("disconnect", () => process.exit(0));
process.send?.({ ready: true });

import { Agent, request } from "node:http";
import { Duplex } from "node:stream";

/** What a reader made of the bytes of one connection. */
export interface Verdict {
  /** Whether it read a whole response. */
  whole: boolean;
  status: number;
  /** As far as it was handed over. */
  body: string;
}

/** A connection in memory: what the client writes is dropped, what comes is the given pieces and then the end. */
class Scripted extends Duplex {
  readonly #pieces: Buffer[];

  constructor(pieces: readonly Buffer[]) {
    super({ autoDestroy: true });
    this.#pieces = [...pieces];
  }

  override _read(): void {
    this.push(this.#pieces.shift() ?? null);
  }

  override _write(_chunk: unknown, _encoding: string, done: () => void): void {
    done();
  }
}

/** How node's own client, whose parser is llhttp in its strict mode, reads the response to one request. */
export function readByNode(pieces: readonly Buffer[], method: string): Promise<Verdict> {
  return new Promise((resolve) => {
    const verdict: Verdict = { whole: false, status: 0, body: "" };
    const agent = new Agent();
    agent.createConnection = () => new Scripted(pieces);
    const sent = request({
      method,
      host: "test",
      maxHeaderSize: 65_536,
      agent,
    });
    const settle = (): void => resolve(verdict);
    sent.on("error", settle);
    sent.on("upgrade", (_response, socket) => {
      socket.destroy();
      settle();
    });
    sent.on("response", (response) => {
      verdict.status = response.statusCode ?? 0;
      response.on("data", (chunk: Buffer) => {
        verdict.body += chunk.toString("latin1");
      });
      response.on("end", () => {
        verdict.whole = response.complete;
        settle();
      });
      response.on("error", settle);
      response.on("close", settle);
    });
    sent.end();
  });
}

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Worker } from "node:worker_threads";

/** A port that listens but completes no further handshake. */
export interface BlackHole {
  readonly port: number;
  readonly url: string;
  /** False where the system completes handshakes all the same (seen on some kernels): skip the leg, do not fail it. */
  readonly works: boolean;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

// A blocked thread never accepts, so its backlog stays full; the thread that runs the tests could not block.
const LISTENER = `
const { createServer } = require("node:net");
const { parentPort } = require("node:worker_threads");
const server = createServer();
server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
  parentPort.postMessage(server.address().port);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});`;

const MOST_FILLERS = 16;
const HANDSHAKE_MS = 150;

/** BH-41 leg 7: a listener whose backlog is full, so that a connect neither succeeds nor fails. */
export async function createBlackHole(): Promise<BlackHole> {
  const worker = new Worker(LISTENER, { eval: true });
  const [port] = (await once(worker, "message")) as [number];
  const fillers: Socket[] = [];
  let works = false;
  while (!works && fillers.length < MOST_FILLERS) {
    const filler = connect(port, "127.0.0.1");
    filler.on("error", () => filler.destroy());
    fillers.push(filler);
    works = !(await connects(filler));
  }
  const close = async () => {
    for (const filler of fillers) filler.destroy();
    await worker.terminate();
  };
  return { port, url: `http://127.0.0.1:${port}`, works, close, [Symbol.asyncDispose]: close };
}

async function connects(socket: Socket): Promise<boolean> {
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(HANDSHAKE_MS) });
    return true;
  } catch {
    return false;
  }
}

import { connect } from "node:net";
import { type Child, poll } from "../measure/children.ts";

const START_TIMEOUT_MS = 20_000;

function accepts(port: number): Promise<true | undefined> {
  const { promise, resolve } = Promise.withResolvers<true | undefined>();
  const socket = connect({ port, host: "127.0.0.1" });
  socket.once("connect", () => {
    resolve(true);
  });
  socket.once("error", () => {
    resolve(undefined);
  });
  return promise.finally(() => socket.destroy());
}

/** Resolves once something listens there; stops the child and fails if it ends or takes too long. */
export async function waitForPort(port: number, child: Child): Promise<void> {
  try {
    await poll(
      () => accepts(port),
      () => child.ended,
      START_TIMEOUT_MS,
      () => child.output,
    );
  } catch (error) {
    await child.stop();
    throw error;
  }
}

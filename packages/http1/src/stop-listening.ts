import type { Server } from "node:net";
import { setImmediate as turn } from "node:timers/promises";

/** What comes to a listener in a turn as short as this is next to nothing, ms. */
const SHORT_MS = 0.5;
const MOST_MS = 1000;

/**
 * Closes a listener once nothing waits there to be accepted: what does is reset, with the request that its client has
 * sent by then. Resolves when it is closed, to a promise of the end of all its connections.
 */
export async function stopListening(server: Server): Promise<{ closed: Promise<void> }> {
  let came = true;
  const onCame = (): void => {
    came = true;
  };
  server.on("connection", onCame);
  const start = performance.now();
  for (let began = start, now = start; (came || now - began > SHORT_MS) && now - start < MOST_MS; ) {
    came = false;
    // The event loop polls between two of these, and accepts one connection each time.
    await turn();
    began = performance.now();
    await turn();
    now = performance.now();
  }
  server.off("connection", onCame);
  return { closed: new Promise((resolve) => server.close(() => resolve())) };
}

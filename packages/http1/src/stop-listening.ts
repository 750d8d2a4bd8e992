import type { Server } from "node:net";
import { setImmediate as turn } from "node:timers/promises";

/** More than a listener's queue holds. */
const MOST_TURNS = 4096;

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
  for (let turns = 0; came && turns < MOST_TURNS; turns += 1) {
    came = false;
    // One turn may begin behind the polling of the event loop, which accepts one connection each time; two hold a whole one.
    await turn();
    await turn();
  }
  server.off("connection", onCame);
  return { closed: new Promise((resolve) => server.close(() => resolve())) };
}

import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Below what Linux, macOS and Windows give to outgoing connections: a connection cannot take the port of a server that
// has not started yet, or that is being started again.
const FIRST = 10_000;
const COUNT = 22_000;

/** A port of 127.0.0.1 on which nobody listens, and that no other test process on this machine is given meanwhile. */
export async function freePort(): Promise<number> {
  const start = Math.floor(Math.random() * COUNT);
  for (let i = 0; i < COUNT; i += 1) {
    const port = FIRST + ((start + i) % COUNT);
    if (claim(port) && (await isFree(port))) return port;
  }
  throw new Error("no port is free");
}

/** Claims are files, since the processes that must not be given one port share nothing else; a dead one's lapse. */
function claim(port: number): boolean {
  const folder = join(tmpdir(), "switchyard-test-ports");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, String(port));
  try {
    if (isAlive(Number(readFileSync(file, "utf8")))) return false;
    rmSync(file, { force: true });
  } catch {
    // Nobody claims it.
  }
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" });
    return true;
  } catch {
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const free = Promise.withResolvers<boolean>();
  server.once("error", () => free.resolve(false));
  server.listen(port, "127.0.0.1", () => free.resolve(true));
  if (!(await free.promise)) return false;
  server.close();
  await once(server, "close");
  return true;
}

import type { Worker } from "node:cluster";

/** As much of what node sends with a message as is used: a connection, by its descriptor while it is open. */
interface Handle {
  readonly fd: number;
  close(): void;
}

/**
 * Closes the connections that a worker was given and did not confirm before it ended. Node's primary keeps each open until
 * the worker says that it has it, and hears of that from no other: its client would wait for ever.
 */
export function closeWithWorker(worker: Worker): void {
  const given = new Set<Handle>();
  const { process } = worker;
  const send = process.send.bind(process) as (...args: unknown[]) => boolean;
  process.send = (...args: unknown[]): boolean => {
    const [, handle] = args;
    if (isHandle(handle)) {
      // Node closes what the worker has confirmed.
      for (const one of given) if (one.fd < 0) given.delete(one);
      given.add(handle);
    }
    return send(...args);
  };
  worker.once("exit", () => {
    for (const handle of given) handle.close();
    given.clear();
  });
}

function isHandle(value: unknown): value is Handle {
  return typeof value === "object" && value !== null && "fd" in value && "close" in value;
}

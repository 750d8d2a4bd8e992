import cluster from "node:cluster";
import { createWriteStream, fstatSync, ftruncateSync, openSync, readSync } from "node:fs";
import type { WriteStream } from "node:fs";
import { once } from "node:events";
import { recordDropped } from "@switchyard/core";
import type { DecisionLog } from "@switchyard/router";
import type { Logger } from "@switchyard/telemetry";
import { CommandError } from "../exit.ts";

/** Names the file in which this process's router logs its decisions with their inputs; off when unset. */
export const DECISION_LOG_VARIABLE = "SWITCHYARD_DECISION_LOG";

/** What may wait for a slow disk; more is dropped, and counted. */
const MAX_WAITING_BYTES = 8 << 20;
/** A log that grows to this size is not written any further. */
const MAX_FILE_BYTES = 1 << 30;
/** How far back the end of the last whole line is looked for. */
const TAIL_BYTES = 1 << 20;
const NEWLINE = 10;
const LINE_START = '{"kind":"';

export interface DecisionLogLimits {
  readonly waitingBytes: number;
  readonly fileBytes: number;
}

const LIMITS: DecisionLogLimits = { waitingBytes: MAX_WAITING_BYTES, fileBytes: MAX_FILE_BYTES };

/** A decision log in a file, one JSON line each. No decision waits for it: what the disk does not take is dropped. */
export class DecisionLogFile implements DecisionLog {
  readonly #stream: WriteStream;
  readonly #logger: Logger;
  readonly #limits: DecisionLogLimits;
  #bytes: number;
  #dropped = 0;
  #ended = false;

  /** Goes on with a file that is there. Throws a `CommandError` where it cannot be written. */
  constructor(path: string, logger: Logger, limits: DecisionLogLimits = LIMITS) {
    const { fd, size } = openLog(path);
    this.#logger = logger;
    this.#limits = limits;
    this.#bytes = size;
    this.#stream = createWriteStream(path, { fd, highWaterMark: limits.waitingBytes });
    this.#stream.on("error", (error: NodeJS.ErrnoException) => this.#stop("cannot be written", error.code));
    this.#stream.on("drain", () => this.#tellDropped());
  }

  write(line: string): void {
    if (this.#ended) return;
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#bytes + bytes > this.#limits.fileBytes) {
      this.#stop("is full");
      return;
    }
    if (this.#stream.writableLength + bytes > this.#limits.waitingBytes) {
      this.#dropped += 1;
      return;
    }
    if (this.#dropped > 0) this.#tellDropped();
    this.#put(line, bytes);
  }

  /** Writes what waits, and closes the file. */
  async close(): Promise<void> {
    if (this.#dropped > 0) this.#tellDropped();
    this.#ended = true;
    if (this.#stream.closed) return;
    const closed = once(this.#stream, "close");
    this.#stream.end();
    await closed.catch(() => undefined);
  }

  #put(line: string, bytes: number): void {
    this.#bytes += bytes;
    this.#stream.write(`${line}\n`);
  }

  #tellDropped(): void {
    if (this.#ended || this.#dropped === 0) return;
    const line = recordDropped(this.#dropped);
    this.#logger.warn("lines of the decision log were dropped: the disk is too slow", {
      lines: this.#dropped,
    });
    this.#dropped = 0;
    this.#put(line, line.length + 1);
  }

  #stop(why: string, code?: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#logger.warn(`the decision log ${why}: decisions are not logged any more`, {
      bytes: this.#bytes,
      code,
    });
    this.#stream.end();
  }
}

/** The log that the environment asks for. Each worker has a file of its own, with its number at the end. */
export function openDecisionLog(
  env: Readonly<Record<string, string | undefined>>,
  logger: Logger,
): DecisionLogFile | undefined {
  const path = env[DECISION_LOG_VARIABLE];
  if (path === undefined || path === "") return undefined;
  const own = cluster.worker === undefined ? path : `${path}.${cluster.worker.id}`;
  const log = new DecisionLogFile(own, logger);
  logger.info("decisions are logged with their inputs", { file: own });
  return log;
}

/** A file that ends with something else than half a line of ours is somebody's by mistake. */
class NoLogError extends Error {}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "unknown";
}

/** Opens for appending, behind the last whole line: a process that was killed may have left half of one. */
function openLog(path: string): { readonly fd: number; readonly size: number } {
  try {
    const fd = openSync(path, "a+", 0o600);
    const { size } = fstatSync(fd);
    const tail = Buffer.alloc(Math.min(size, TAIL_BYTES));
    const from = size - readSync(fd, tail, 0, tail.length, size - tail.length);
    const whole = tail.lastIndexOf(NEWLINE) + 1 + from;
    if (whole < size) {
      if (
        !tail
          .subarray(whole - from)
          .toString("latin1")
          .startsWith(LINE_START)
      )
        throw new NoLogError();
      ftruncateSync(fd, whole);
    }
    return { fd, size: whole };
  } catch (error) {
    const why = error instanceof NoLogError ? "is no decision log" : `cannot be written (${codeOf(error)})`;
    throw new CommandError(`${DECISION_LOG_VARIABLE}: ${path} ${why}`, { cause: error });
  }
}

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { CommandError } from "../exit.ts";

/** No line of ours is longer; one that is belongs to another kind of file. */
const MAX_LINE_BYTES = 64 << 20;
const NEWLINE = 10;

/** One line of a file. */
export interface NumberedLine {
  /** From 1. */
  readonly number: number;
  readonly text: string;
  /** The file ends within it: whoever writes it has not written its newline yet. */
  readonly torn: boolean;
}

/** How large a file is now, so that several passes over one that grows read the same. */
export async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** The lines of the first `size` bytes of a file, a chunk of it in memory at a time; empty ones are left out. */
export async function* readLines(path: string, size: number): AsyncGenerator<NumberedLine> {
  if (size === 0) return;
  let number = 0;
  let parts: Buffer[] = [];
  let length = 0;
  const take = (torn: boolean): NumberedLine => {
    const text = Buffer.concat(parts).toString("utf8").trim();
    parts = [];
    length = 0;
    number += 1;
    return { number, text, torn };
  };
  const chunks = createReadStream(path, { end: size - 1 });
  try {
    for await (const chunk of chunks as AsyncIterable<Buffer>) {
      let from = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
        parts.push(chunk.subarray(from, end));
        from = end + 1;
        const line = take(false);
        if (line.text !== "") yield line;
      }
      if (from === chunk.length) continue;
      parts.push(chunk.subarray(from));
      length += chunk.length - from;
      if (length > MAX_LINE_BYTES) throw new CommandError(`${path}:${number + 1}: the line is too long`);
    }
  } catch (error) {
    throw error instanceof CommandError ? error : unreadable(path, error);
  }
  if (parts.length === 0) return;
  const last = take(true);
  if (last.text !== "") yield last;
}

function unreadable(path: string, error: unknown): CommandError {
  return new CommandError(`${path} cannot be read`, { cause: error });
}

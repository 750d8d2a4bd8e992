import type { Socket } from "node:net";

/** Has something to write at the end of this turn of the event loop. */
export interface Flushable {
  flush(): void;
}

/** Bytes, or text of which every character is one byte. */
export type Part = string | Uint8Array;

let waiting: Flushable[] = [];

/**
 * Calls `flush` when the turn's I/O callbacks are through, so that whatever a turn sends to one socket is one write.
 * Never a timer: a token is not delayed.
 */
export function flushThisTurn(one: Flushable): void {
  if (waiting.push(one) === 1) setImmediate(flushAll);
}

function flushAll(): void {
  const now = waiting;
  waiting = [];
  for (const one of now) one.flush();
}

// Above this a copy costs more than a longer vector of buffers.
const copyLimit = 16_384;

/** Where parts are joined: free again when the kernel took the bytes within the call, which it nearly always does. */
let scratch = Buffer.allocUnsafeSlow(copyLimit);

/** Writes all parts as one write; small ones are joined, large ones are not copied. False: the socket is full. */
export function writeParts(socket: Socket, parts: readonly Part[]): boolean {
  let total = 0;
  for (let i = 0; i < parts.length; i += 1) total += (parts[i] as Part).length;
  // TLS holds what it was given for longer, and a full socket queues it.
  if (total <= copyLimit && socket.writableLength === 0 && !("encrypted" in socket))
    return writeScratch(socket, parts, total);
  return writeVector(socket, parts);
}

function writeScratch(socket: Socket, parts: readonly Part[], total: number): boolean {
  copyParts(scratch, parts, 0, parts.length);
  const room = socket.write(scratch.subarray(0, total));
  if (socket.writableLength > 0) scratch = Buffer.allocUnsafeSlow(copyLimit);
  return room;
}

function writeVector(socket: Socket, parts: readonly Part[]): boolean {
  let room = true;
  let corked = false;
  let start = 0;
  let bytes = 0;
  for (let i = 0; i < parts.length; i += 1) {
    const part = parts[i] as Part;
    if (part.length > copyLimit && typeof part !== "string") {
      if (!corked) {
        corked = true;
        socket.cork();
      }
      if (i > start) socket.write(join(parts, start, i, bytes));
      room = socket.write(part);
      start = i + 1;
      bytes = 0;
    } else bytes += part.length;
  }
  if (start < parts.length) room = socket.write(join(parts, start, parts.length, bytes));
  if (corked) socket.uncork();
  return room;
}

function join(parts: readonly Part[], start: number, end: number, bytes: number): Uint8Array {
  const only = parts[start];
  if (end === start + 1 && typeof only === "object") return only;
  const whole = Buffer.allocUnsafe(bytes);
  copyParts(whole, parts, start, end);
  return whole;
}

function copyParts(to: Buffer, parts: readonly Part[], start: number, end: number): void {
  let at = 0;
  for (let i = start; i < end; i += 1) {
    const part = parts[i] as Part;
    if (typeof part === "string") to.write(part, at, "latin1");
    else to.set(part, at);
    at += part.length;
  }
}

// A process of its own: answers every request by the load its parent names, over bare sockets, so that it costs little.
import { createServer, type Socket } from "node:net";
import { type Load, loadNamed } from "./loads.ts";
import { MessageReader } from "./message-reader.ts";

const BAD = Buffer.from("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
const LAST_CHUNK = Buffer.from("0\r\n\r\n");

interface Prepared {
  readonly load: Load;
  /** The head comes with the first. */
  readonly writes: readonly Buffer[];
}

function prepare(load: Load): Prepared {
  if (!load.stream) {
    const body = load.answer[0] ?? Buffer.alloc(0);
    const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: bench\r\ncontent-length: ${body.length}\r\n\r\n`;
    return { load, writes: [Buffer.concat([Buffer.from(head), body])] };
  }
  const head =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-request-id: bench\r\ntransfer-encoding: chunked\r\n\r\n";
  const writes = load.answer.map((event, index) =>
    Buffer.concat([
      Buffer.from(`${index === 0 ? head : ""}${event.length.toString(16)}\r\n`),
      event,
      Buffer.from("\r\n"),
      ...(index === load.answer.length - 1 ? [LAST_CHUNK] : []),
    ]),
  );
  return { load, writes };
}

let current: Prepared | undefined;

function respond(socket: Socket, requestBytes: number): void {
  // A variant may write the model anew, but most of the body must have come through.
  if (current === undefined || requestBytes < current.load.requestBody.length * 0.9) socket.write(BAD);
  else if (current.load.paceMs === 0) for (const bytes of current.writes) socket.write(bytes);
  else pace(socket, current);
}

/** Role and first token at once, for no timer's jitter to be in the time to first token; then one chunk a tick. */
function pace(socket: Socket, { load, writes }: Prepared): void {
  let next = 2;
  for (const bytes of writes.slice(0, next)) socket.write(bytes);
  const timer = setInterval(() => {
    const bytes = writes[next];
    next += 1;
    if (bytes !== undefined && !socket.destroyed) socket.write(bytes);
    if (next >= writes.length || socket.destroyed) clearInterval(timer);
  }, load.paceMs);
}

const server = createServer({ noDelay: true }, (socket) => {
  const reader = new MessageReader({
    onHead: () => undefined,
    onEnd: (bytes) => {
      respond(socket, bytes);
    },
  });
  socket.on("data", (bytes: Buffer) => {
    reader.push(bytes);
  });
  socket.on("error", () => socket.destroy());
});

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address !== null && typeof address === "object") process.send?.({ port: address.port });
});
process.on("message", ({ load }: { load: string }) => {
  current = prepare(loadNamed(load));
  process.send?.({ load });
});
process.on("disconnect", () => process.exit(0));

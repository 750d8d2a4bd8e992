import { createServer } from "node:http";
import { type AddressInfo, createServer as createNetServer, type Socket } from "node:net";
import type { InferenceService } from "@switchyard/proto/inference/v1/inference_service";
import type { ServiceImpl } from "@switchyard/rpc";
import { Metrics, SILENT } from "@switchyard/telemetry";
import { createFacade } from "../../src/index.ts";
import { chunk, head, JSON_TYPE, SSE, TRAILER } from "../messages.ts";
import { ANSWER, CHUNKS, EVENT } from "./traffic.ts";

const ANSWER_HEAD = head(200, { ...JSON_TYPE, "content-length": String(ANSWER.length) });
const ANSWER_CHUNK = chunk(ANSWER);
const STREAM_HEAD = head(200, SSE);
const STREAM_CHUNK = chunk(EVENT);

/** Answers as a forwarder would, at once or an event a turn. */
const inference: Pick<ServiceImpl<typeof InferenceService>, "infer"> = {
  infer(request, sink) {
    if (request.query !== "stream") {
      sink.send(ANSWER_HEAD);
      sink.send(ANSWER_CHUNK);
      sink.send(TRAILER);
      sink.end();
      return;
    }
    sink.send(STREAM_HEAD);
    let left = CHUNKS;
    const step = (): void => {
      sink.send(STREAM_CHUNK);
      left -= 1;
      if (left > 0) setImmediate(step);
      else sink.end();
    };
    setImmediate(step);
  },
};

async function listen(variant: string): Promise<number> {
  if (variant === "fast" || variant === "node") {
    const facade = createFacade({
      inference,
      maxBodyBytes: 1024 * 1024,
      logger: SILENT,
      metrics: new Metrics(),
      fastLane: variant === "fast",
    });
    return Number((await facade.listen({ host: "127.0.0.1", port: 0 })).split(":")[1]);
  }
  const server = variant === "bare" ? bareServer() : socketServer();
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** No less than any node:http server does. */
function bareServer(): ReturnType<typeof createServer> {
  return createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      Buffer.concat(pieces);
      if (request.url?.endsWith("stream") !== true) {
        response.writeHead(200, { "content-type": "application/json", "content-length": ANSWER.length });
        response.end(ANSWER);
        return;
      }
      response.writeHead(200, SSE);
      let left = CHUNKS;
      const step = (): void => {
        response.write(EVENT);
        left -= 1;
        if (left > 0) setImmediate(step);
        else response.end();
      };
      setImmediate(step);
    });
  });
}

/** No more than node's sockets cost: looks at nothing but the request's size. */
function socketServer(): ReturnType<typeof createNetServer> {
  const answer = Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${ANSWER.length}\r\n\r\n`),
    ANSWER,
  ]);
  const frame = Buffer.concat([Buffer.from(`${EVENT.length.toString(16)}\r\n`), EVENT, Buffer.from("\r\n")]);
  const stream = (socket: Socket): void => {
    socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    let left = CHUNKS;
    const step = (): void => {
      socket.write(frame);
      left -= 1;
      if (left > 0) setImmediate(step);
      else socket.write("0\r\n\r\n");
    };
    setImmediate(step);
  };
  return createNetServer({ noDelay: true }, (socket) => {
    let left = 0;
    let streams = false;
    socket.on("error", () => {});
    socket.on("data", (bytes: Buffer) => {
      if (left === 0) {
        const end = bytes.indexOf("\r\n\r\n");
        const request = bytes.toString("latin1", 0, end);
        left = end + 4 + Number(/content-length: (\d+)/.exec(request)?.[1]);
        streams = request.includes("?stream ");
      }
      left -= bytes.length;
      if (left > 0) return;
      if (streams) stream(socket);
      else socket.write(answer);
    });
  });
}

process.on("message", (message) => {
  if (message === "cpu") {
    const { user, system } = process.cpuUsage();
    process.send?.({ cpu: user + system });
  }
});
process.on("disconnect", () => process.exit(0));
process.send?.({ port: await listen(process.argv[2] ?? "fast") });

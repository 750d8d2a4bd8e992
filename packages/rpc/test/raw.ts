import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { InferenceService, InferRequestSchema } from "@switchyard/proto/inference/v1/inference_service";
import { DecideRequestSchema, RoutingService } from "@switchyard/proto/routing/v1/routing_service";
import { createRpcServer, registration, type RpcServer, type RpcServerOptions } from "../src/index.ts";
import { type Implementation, scripted } from "./contract.ts";

export const cleanups: (() => unknown)[] = [];

/** After each test. */
export async function cleanUp(): Promise<void> {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
}

export async function start(
  options: Partial<RpcServerOptions> = {},
): Promise<RpcServer & Pick<Implementation, "seen">> {
  const { routing, inference, seen } = scripted();
  const services = [registration(RoutingService, routing), registration(InferenceService, inference)];
  const server = await createRpcServer({ services, host: "127.0.0.1", port: 0, ...options });
  cleanups.push(() => server.close(0));
  return Object.assign(server, { seen });
}

/** A server of raw bytes. */
export async function startRaw(onSocket: (socket: Socket) => void): Promise<{ url: string; port: number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    onSocket(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  return { url: `http://127.0.0.1:${port}`, port };
}

export interface Raw {
  socket: Socket;
  text: string;
  /** How it closed, once it did. */
  closed: "end" | "reset" | undefined;
}

export async function open(server: { port: number }): Promise<Raw> {
  const socket = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true });
  cleanups.push(() => socket.destroy());
  const raw: Raw = { socket, text: "", closed: undefined };
  socket.on("data", (bytes: Buffer) => (raw.text = (raw.text + bytes.toString("latin1")).slice(-100_000)));
  socket.on("end", () => (raw.closed ??= "end"));
  socket.on("error", () => (raw.closed = "reset"));
  await once(socket, "connect");
  return raw;
}

function post(path: string, type: string, body: Uint8Array, fields = ""): Buffer {
  const head = `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\n${fields}content-length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), body]);
}

export function decideBytes(model: string, fields = ""): Buffer {
  const body = toBinary(DecideRequestSchema, create(DecideRequestSchema, { facts: { id: "r", model } }));
  return post("/switchyard.routing.v1.RoutingService/Decide", "application/proto", body, fields);
}

export function envelope(path: string): Buffer {
  const message = toBinary(InferRequestSchema, create(InferRequestSchema, { path }));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

export function inferBytes(path: string, fields = ""): Buffer {
  const service = "/switchyard.inference.v1.InferenceService/Infer";
  return post(service, "application/connect+proto", envelope(path), fields);
}

import { connect as connectTcp, isIP, type Socket, type TcpNetConnectOpts } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { connectError, ExchangeError } from "./errors.ts";
import type { UpstreamClock, UpstreamTls } from "./types.ts";

/** Where an origin's connections go, and what they have in common. */
export interface ConnectTarget {
  readonly host: string;
  readonly port: number;
  /** What requests say in `host`. */
  readonly authority: string;
  readonly secure: boolean;
  readonly tls: UpstreamTls;
  /** The last TLS session of the origin, so that its next connection saves a round trip. */
  session: Buffer | undefined;
}

/** Takes what is read of a socket. */
interface Receiver {
  /** The first `size` of these bytes are new. `shared`: the next read, of any socket, writes over them. */
  onBytes(bytes: Buffer, size: number, shared: boolean): void;
}

/** A connected socket; bytes that come before it has a receiver are a fault of the peer and end it. */
export interface OpenSocket {
  readonly socket: Socket;
  receiver: Receiver | null;
}

/** Receives the one result of an attempt to connect. */
export interface ConnectWaiter {
  onConnected(open: OpenSocket): void;
  onConnectError(error: ExchangeError): void;
}

/** Node's sockets take it, its types do not know it. */
interface ReadAhead {
  readonly highWaterMark: number;
}

const TCP_KEEP_ALIVE_MS = 60_000;
const READ_AHEAD_BYTES = 64 * 1024;

/** The target of an origin; throws on one that is not an http(s) origin. */
export function connectTarget(origin: string, tls: UpstreamTls): ConnectTarget {
  const url = new URL(origin);
  const secure = url.protocol === "https:";
  if (!secure && url.protocol !== "http:") {
    throw new TypeError("not an http origin");
  }
  const port = url.port === "" ? (secure ? 443 : 80) : Number(url.port);
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port,
    authority: url.host,
    secure,
    tls,
    session: undefined,
  };
}

/** Opens a socket, TLS included, within `timeoutMs` (0: no bound). Returns its cancellation. */
export function openSocket(
  target: ConnectTarget,
  timeoutMs: number,
  clock: UpstreamClock,
  waiter: ConnectWaiter,
): () => void {
  const open = target.secure ? openTls(target) : openTcp(target);
  const { socket } = open;
  let tcpReady = false;
  let settled = false;

  const settle = (): boolean => {
    if (settled) {
      return false;
    }
    settled = true;
    if (timer !== null) {
      clock.clearTimeout(timer);
    }
    return true;
  };
  const fail = (error: ExchangeError): void => {
    if (settle()) {
      socket.destroy();
      waiter.onConnectError(error);
    }
  };
  const timer =
    timeoutMs > 0 ? clock.setTimeout(fail, timeoutMs, new ExchangeError("connect", "CONNECT_TIMEOUT")) : null;

  socket.once("connect", () => {
    tcpReady = true;
  });
  socket.once(target.secure ? "secureConnect" : "connect", () => {
    if (settle()) {
      waiter.onConnected(open);
    }
  });
  // Stays for the socket's life: an error between owners must not be an uncaught one.
  socket.on("error", (error) => fail(connectError(error, tcpReady)));
  socket.once("close", () => fail(connectError(null, tcpReady)));

  return () => {
    if (settle()) {
      socket.destroy();
    }
  };
}

/**
 * What every plain socket reads into: a read is looked at before the next one happens, and what is kept of it is
 * small and copied, which costs less than a buffer for each read.
 */
const readBuffer = Buffer.allocUnsafeSlow(READ_AHEAD_BYTES);

function openTcp(target: ConnectTarget): OpenSocket {
  const callback = (size: number): boolean => {
    receive(open, readBuffer, size, true);
    return true;
  };
  const options: TcpNetConnectOpts = {
    host: target.host,
    port: target.port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
    onread: { buffer: readBuffer, callback },
  };
  const open: OpenSocket = { socket: connectTcp(options), receiver: null };
  return open;
}

function openTls(target: ConnectTarget): OpenSocket {
  const options: ConnectionOptions & ReadAhead = {
    host: target.host,
    port: target.port,
    ALPNProtocols: ["http/1.1"],
    highWaterMark: READ_AHEAD_BYTES,
    ...(isIP(target.host) === 0 ? { servername: target.host } : {}),
    ...(target.tls.ca === undefined ? {} : { ca: target.tls.ca }),
    ...(target.session === undefined ? {} : { session: target.session }),
  };
  const socket = connectTls(options);
  const open: OpenSocket = { socket, receiver: null };
  socket.on("session", (session: Buffer) => {
    target.session = session;
  });
  socket.on("data", (bytes: Buffer) => receive(open, bytes, bytes.length, false));
  socket.setNoDelay(true).setKeepAlive(true, TCP_KEEP_ALIVE_MS);
  return open;
}

function receive(open: OpenSocket, bytes: Buffer, size: number, shared: boolean): void {
  if (open.receiver === null) {
    open.socket.destroy();
  } else {
    open.receiver.onBytes(bytes, size, shared);
  }
}

import { PATIENCE } from "@switchyard/http1";

/** Bounds of the server that no config names. Times in ms. */
export interface ServerLimits {
  /** Requests at once; more are refused as overloaded. */
  readonly maxConcurrentRequests: number;
  /** Bytes of all request bodies held at once. */
  readonly maxBufferedBytes: number;
  /** No byte to or from a caller that we wait for: a stalled upload is refused, a reader that takes nothing is dropped (BH-42). */
  readonly stallTimeoutMs: number;
  /** Idle connections stay open longer than clients' pools and load balancers keep theirs (BH-40). */
  readonly keepAliveTimeoutMs: number;
  /** From a connection's first byte to the end of the header. */
  readonly headersTimeoutMs: number;
  /** For a whole request with its body: a long upload over a slow line is fine while bytes come. */
  readonly requestTimeoutMs: number;
}

/** Defaults for a limit on body bytes. */
export function serverLimits(maxBodyBytes: number, given: Partial<ServerLimits> = {}): ServerLimits {
  return {
    maxConcurrentRequests: given.maxConcurrentRequests ?? 10_000,
    maxBufferedBytes: given.maxBufferedBytes ?? Math.max(512 * 1024 * 1024, 4 * maxBodyBytes),
    stallTimeoutMs: given.stallTimeoutMs ?? PATIENCE.stallMs,
    keepAliveTimeoutMs: given.keepAliveTimeoutMs ?? PATIENCE.idleMs,
    headersTimeoutMs: given.headersTimeoutMs ?? PATIENCE.headMs,
    requestTimeoutMs: given.requestTimeoutMs ?? PATIENCE.requestMs,
  };
}

/** Bytes of one request's header block. */
export const MAX_HEADER_BYTES = 64 * 1024;
/** Header lines that go on; `InferRequest` takes no more. */
export const MAX_HEADERS = 256;
/** Characters, as `InferRequest` takes them. */
export const MAX_PATH = 2048;
export const MAX_QUERY = 8192;

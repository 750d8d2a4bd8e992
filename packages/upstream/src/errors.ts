/**
 * Where an exchange failed. Everything up to `before_headers` is class `unreachable` of rule E1, `headers_timeout`
 * is `timeout`; the rest failed after the response head was handed over.
 */
export type ExchangePhase =
  | "dns"
  | "connect"
  | "tls"
  | "send"
  | "headers_timeout"
  | "before_headers"
  | "body"
  | "idle_timeout"
  | "decode";

/**
 * The only error an exchange ends with. Its message is made of the phase and a code and of nothing that came with the
 * request or the response, so it may be logged (invariant 9).
 */
export class ExchangeError extends Error {
  override readonly name = "ExchangeError";
  readonly phase: ExchangePhase;
  /**
   * The system's, TLS's or zlib's code where there is one, else one of ours: `POOL_FULL`, `CLOSED`, `CONNECT_TIMEOUT`,
   * `INVALID_REQUEST`, `CLOSED_EARLY`, `MALFORMED_RESPONSE`, `HEAD_TOO_LARGE`.
   */
  readonly code?: string;

  constructor(phase: ExchangePhase, code?: string) {
    super(code === undefined ? TEXT[phase] : `${TEXT[phase]} (${code})`);
    this.phase = phase;
    if (code !== undefined) {
      this.code = code;
    }
  }
}

const TEXT: Readonly<Record<ExchangePhase, string>> = {
  dns: "the provider's name could not be resolved",
  connect: "no connection to the provider",
  tls: "no secure connection to the provider",
  send: "the request could not be sent",
  headers_timeout: "no response headers in time",
  before_headers: "the connection ended before response headers",
  body: "the response body was cut short",
  idle_timeout: "the response body went silent",
  decode: "the response body could not be decoded",
};

/** An error's `code`, if it has one that is fit for a log line. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) {
    return undefined;
  }
  const { code } = error;
  return typeof code === "string" && /^[A-Za-z]\w{1,63}$/.test(code) ? code : undefined;
}

/** The phase of an error that a socket raised before it was connected (`tcpReady`: TCP stood, TLS did not). */
export function connectError(error: unknown, tcpReady: boolean): ExchangeError {
  const code = codeOf(error);
  const lookup = typeof error === "object" && error !== null && "syscall" in error;
  if (lookup && error.syscall === "getaddrinfo") {
    return new ExchangeError("dns", code);
  }
  return new ExchangeError(tcpReady ? "tls" : "connect", code);
}

/** The phase of a failure on a connected socket. */
export function exchangeFailure(code: string | undefined, headSeen: boolean): ExchangeError {
  if (headSeen) {
    return new ExchangeError("body", code);
  }
  return new ExchangeError(code === "EPIPE" ? "send" : "before_headers", code);
}

import {
  type Authenticator,
  type ConnectionOptions,
  credsAuthenticator,
  nkeyAuthenticator,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from "nats";

/** How this process proves who it is. `nkey` is a seed, `creds` the content of a creds file. */
export type NatsAuth =
  | { readonly user: string; readonly password: string }
  | { readonly token: string }
  | { readonly nkey: string }
  | { readonly creds: string };

/** PEM texts; what is left out comes from the system. */
export interface NatsTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface NatsOptions {
  /** `nats://host:port` or `tls://host:port`; `user:password@` in one is taken where `auth` is left out. */
  readonly servers: readonly string[];
  readonly auth?: NatsAuth;
  readonly tls?: NatsTls | true;
  /** How the server's monitor names this connection. */
  readonly name?: string;
  /** One line for each change of state, never one for each try. */
  log?(level: "info" | "warn", message: string): void;
  /** What a listener threw. Left out: logged, one line in ten seconds at most. */
  onListenerError?(error: unknown): void;
  /** Milliseconds in which every key-value call settles; 2000. */
  readonly kvTimeoutMs?: number;
  /** Copies of a new bucket. `auto`, the default: the cluster's size, at most 3. */
  readonly replicas?: number | "auto";
}

/** Three unanswered pings in a row: a server that went silent is noticed within 6 s. */
const PING_INTERVAL_MS = 1500;
const MAX_PINGS_OUT = 2;
const DIAL_TIMEOUT_MS = 2000;

/** What the connection needs of the options, and the moments it must hear of. */
export interface ClientHooks {
  /** Milliseconds until the next try; throws to give up. */
  pause(): number;
  /** A server is there and asks who this is. */
  onGreeted(): void;
}

/** Throws `TypeError` on servers or credentials that can never work, naming the option and never its value. */
export function clientOptions(options: NatsOptions, hooks: ClientHooks): ConnectionOptions {
  const servers = options.servers.map(parseServer);
  if (servers.length === 0) throw new TypeError("nats: no servers");
  const auth = options.auth ?? servers.find((server) => server.auth !== undefined)?.auth;
  const authenticate = auth && authenticator(auth);
  const tls = options.tls ?? (servers.some((server) => server.tls) ? true : undefined);
  return {
    servers: servers.map((server) => server.host),
    ...(options.name !== undefined && { name: options.name }),
    ...(tls !== undefined && { tls: tls === true ? {} : { ...tls } }),
    authenticator: (nonce) => {
      hooks.onGreeted();
      return authenticate?.(nonce);
    },
    reconnectDelayHandler: () => hooks.pause(),
    maxReconnectAttempts: -1,
    waitOnFirstConnect: true,
    ignoreAuthErrorAbort: true,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: MAX_PINGS_OUT,
    timeout: DIAL_TIMEOUT_MS,
    noAsyncTraces: true,
  };
}

interface ParsedServer {
  readonly host: string;
  readonly tls: boolean;
  readonly auth: NatsAuth | undefined;
}

function parseServer(text: string): ParsedServer {
  const url = URL.parse(text.includes("://") ? text : `nats://${text}`);
  if (!url || !["nats:", "tls:"].includes(url.protocol) || url.hostname === "") {
    throw new TypeError("nats: a server must be nats://host:port or tls://host:port");
  }
  const user = decodeURIComponent(url.username);
  const password = decodeURIComponent(url.password);
  const named = url.password === "" ? { token: user } : { user, password };
  return { host: url.host, tls: url.protocol === "tls:", auth: user === "" ? undefined : named };
}

function authenticator(auth: NatsAuth): Authenticator {
  if ("user" in auth) return usernamePasswordAuthenticator(auth.user, auth.password);
  if ("token" in auth) return tokenAuthenticator(auth.token);
  const text = new TextEncoder();
  const signer =
    "nkey" in auth
      ? nkeyAuthenticator(text.encode(auth.nkey.trim()))
      : credsAuthenticator(text.encode(auth.creds));
  try {
    // A malformed seed would otherwise only show when a server asks, as a client that closes again and again.
    signer("nonce");
  } catch {
    throw new TypeError(`nats: malformed ${"nkey" in auth ? "nkey seed" : "creds"}`);
  }
  return signer;
}

/** Where a process listens. */
export interface ListenAddress {
  /** Without brackets; empty for every interface. */
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

/** Where a process listens when its config says nothing. */
export const DEFAULT_LISTEN = {
  http: "127.0.0.1:8080",
  rpc: "127.0.0.1:8081",
  ops: "127.0.0.1:9090",
} as const;

const FORM = /^(?:\[([0-9a-f:.%]+)\]|([^\s:[\]/@]*)):(\d{1,5})$/i;
const WILDCARDS = new Set(["", "0.0.0.0", "::", "*"]);

/** Reads `host:port`, with brackets around IPv6; undefined for anything else. */
export function parseListen(text: string): ListenAddress | undefined {
  const match = FORM.exec(text);
  if (match === null) return undefined;
  const port = Number(match[3]);
  return port > 65_535 ? undefined : { host: (match[1] ?? match[2] ?? "").toLowerCase(), port };
}

/** Whether only this machine reaches the address. */
export function isLoopback({ host }: ListenAddress): boolean {
  return host === "localhost" || host === "::1" || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/.test(host);
}

/** Whether two listeners cannot both have their port. */
export function overlap(a: ListenAddress, b: ListenAddress): boolean {
  if (a.port === 0 || a.port !== b.port) return false;
  return a.host === b.host || WILDCARDS.has(a.host) || WILDCARDS.has(b.host);
}

import { DEFAULT_LISTEN, parseListen } from "@switchyard/config";
import type { ListenAddress } from "@switchyard/config";
import type { Runtime } from "@switchyard/proto/config/v1/config";
import { CommandError } from "../exit.ts";

export type ListenerName = keyof typeof DEFAULT_LISTEN;

/** URLs at which a process is reached; only of listeners that it has. */
export type BoundAddresses = Readonly<Partial<Record<ListenerName, string>>>;

/** Where a listener of this process is to listen. */
export function addressOf(runtime: Runtime | undefined, name: ListenerName): ListenAddress {
  const text = runtime?.listen?.[name] || DEFAULT_LISTEN[name];
  const address = parseListen(text);
  if (address === undefined) throw new CommandError(`runtime.listen.${name}: "${text}" is not host:port`);
  return address;
}

/** As `host:port`, with brackets around IPv6. */
export function formatAddress({ host, port }: ListenAddress): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** A listener that did not come about, in one clear line. */
export function listenFailure(
  name: ListenerName,
  address: ListenAddress,
  hint: string,
  cause: unknown,
): CommandError {
  const code = codeOf(cause);
  const why =
    code === "EADDRINUSE"
      ? "is already in use"
      : code === "EACCES"
        ? "may not be listened on by this user"
        : `cannot be listened on (${code ?? "unknown reason"})`;
  return new CommandError(`${name} address ${formatAddress(address)} ${why}; ${hint}`, { cause });
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as NodeJS.ErrnoException;
  return code ?? codeOf(error.cause);
}

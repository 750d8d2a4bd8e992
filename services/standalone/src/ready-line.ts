import { SERVICES } from "./args/command.ts";
import type { ServiceName } from "./args/command.ts";
import type { BoundAddresses } from "./node/addresses.ts";

/** The one line on stdout that says that this process serves, and where. */
export function readyLine(addresses: BoundAddresses, services: ReadonlySet<ServiceName>): string {
  const listeners = (["http", "rpc", "ops"] as const)
    .filter((name) => addresses[name] !== undefined)
    .map((name) => `${name}=${addresses[name]}`);
  const hosted = SERVICES.filter((name) => services.has(name)).join(",");
  return ["ready", ...listeners, `services=${hosted}`].join(" ");
}

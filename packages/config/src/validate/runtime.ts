import { Auth } from "@switchyard/proto/config/v1/config";
import type { Listen, Nats } from "@switchyard/proto/config/v1/config";
import type { Fault } from "../fault.ts";
import { eachAt } from "./check.ts";
import type { Check } from "./check.ts";
import { DEFAULT_LISTEN, isLoopback, overlap, parseListen } from "./listen.ts";
import type { ListenAddress } from "./listen.ts";
import { urlFault } from "./url.ts";

const LISTENERS = ["http", "rpc", "ops"] as const;

/** Addresses are `host:port`, and no port is given twice. */
export const listenAddresses: Check = (config) => {
  const faults: Fault[] = [];
  const taken: [string, ListenAddress][] = [];
  for (const name of LISTENERS) {
    const text = config.runtime?.listen?.[name] ?? "";
    if (text === "") continue;
    const path = `runtime.listen.${name}`;
    const address = parseListen(text);
    if (address === undefined) {
      faults.push({
        path,
        message: "must be host:port, such as 127.0.0.1:8080 or [::1]:8080, with a port from 0 to 65535",
      });
      continue;
    }
    const other = taken.find(([, each]) => overlap(each, address));
    if (other !== undefined)
      faults.push({ path, message: `port ${address.port} is already that of runtime.listen.${other[0]}` });
    taken.push([name, address]);
  }
  return faults;
};

/** Open access is for one machine only. */
export const openAccess: Check = (config) => {
  if (config.runtime?.auth !== Auth.OPEN) return [];
  const reachable = LISTENERS.filter((name) => isReachable(config.runtime?.listen, name));
  if (reachable.length === 0) return [];
  const which = reachable.map((name) => `runtime.listen.${name}`).join(", ");
  return [
    {
      path: "runtime.auth",
      message: `"open" is refused unless every listener is on loopback; change ${which}`,
    },
  ];
};

function isReachable(listen: Listen | undefined, name: (typeof LISTENERS)[number]): boolean {
  const address = parseListen(listen?.[name] || DEFAULT_LISTEN[name]);
  return address !== undefined && !isLoopback(address);
}

/** Other services are reached at http(s) URLs. */
export const peerUrls: Check = (config) => {
  const faults: Fault[] = [];
  for (const service of ["router", "forwarder", "health"] as const) {
    eachAt(config.runtime?.[service]?.urls ?? [], `runtime.${service}.urls`, (url, path) => {
      const wrong = urlFault(url, ["http", "https"]);
      if (wrong !== undefined) faults.push({ path, message: wrong });
    });
  }
  return faults;
};

const HOST_AND_PORT = /^[^\s/@?#]+(?::\d{1,5})?$/;

/** NATS servers are URLs without credentials, and there is one way to log in. */
export const natsServers: Check = (config) => {
  const nats = config.runtime?.bus?.nats;
  if (nats === undefined) return [];
  const faults: Fault[] = [];
  eachAt(nats.servers, "runtime.bus.nats.servers", (server, path) => {
    if (server === "" || HOST_AND_PORT.test(server)) return;
    const wrong = urlFault(server, ["nats", "tls"]);
    if (wrong !== undefined) faults.push({ path, message: wrong });
  });
  return [...faults, ...natsLogin(nats)];
};

function natsLogin(nats: Nats): Fault[] {
  const path = "runtime.bus.nats";
  const faults: Fault[] = [];
  if (nats.password !== undefined && nats.user === "")
    faults.push({ path: `${path}.user`, message: "is missing beside password" });
  if (nats.user !== "" && nats.password === undefined)
    faults.push({ path: `${path}.password`, message: "is missing beside user" });
  const ways = [
    nats.user !== "" ? "user" : undefined,
    ...(["token", "nkey", "creds"] as const).filter((name) => nats[name] !== undefined),
  ];
  const given = ways.filter((way) => way !== undefined);
  if (given.length > 1)
    faults.push({ path, message: `${given.join(" and ")} are all given; one way to log in is enough` });
  const tls = nats.tls;
  if (tls !== undefined && (tls.certFile === "") !== (tls.keyFile === "")) {
    faults.push({ path: `${path}.tls`, message: "cert_file and key_file belong together" });
  }
  return faults;
}

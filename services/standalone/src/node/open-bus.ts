import { readFileSync } from "node:fs";
import { connectNatsBus, createMemoryBus } from "@switchyard/bus";
import type { Bus, NatsAuth, NatsOptions, NatsTls } from "@switchyard/bus";
import { credentialReference, resolveSecret } from "@switchyard/config";
import type { SecretSource } from "@switchyard/config";
import type { Credential, Nats, Runtime } from "@switchyard/proto/config/v1/config";
import type { Logger } from "@switchyard/telemetry";
import { CommandError } from "../exit.ts";

export interface OpenBusOptions {
  readonly runtime: Runtime | undefined;
  readonly secrets: SecretSource;
  readonly logger: Logger;
  /** How NATS's monitor names this process. */
  readonly name: string;
}

/** The bus that the file names: NATS, connected in the background, or the embedded one. */
export function openBus({ runtime, secrets, logger, name }: OpenBusOptions): Bus {
  const nats = runtime?.bus?.nats;
  if (nats === undefined) {
    return createMemoryBus({
      onListenerError: (error) => logger.error(`bus: a listener failed: ${nameOf(error)}`),
    });
  }
  const auth = authOf(nats, secrets);
  const tls = tlsOf(nats);
  const options: NatsOptions = {
    servers: nats.servers,
    name,
    log: (level, message) => logger[level](message),
    ...(auth === undefined ? {} : { auth }),
    ...(tls === undefined ? {} : { tls }),
  };
  try {
    return connectNatsBus(options);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new CommandError(`runtime.bus.nats: ${error.message}`, { cause: error });
  }
}

function authOf(nats: Nats, secrets: SecretSource): NatsAuth | undefined {
  const read = (field: string, credential: Credential): string => {
    const resolved = resolveSecret(credentialReference(credential), secrets);
    if (resolved.kind === "secret") return resolved.secret;
    const why = resolved.kind === "missing" ? `${resolved.reference} is not there` : "names no secret";
    throw new CommandError(`runtime.bus.nats.${field}: ${why}`);
  };
  if (nats.user !== "" && nats.password !== undefined) {
    return { user: nats.user, password: read("password", nats.password) };
  }
  if (nats.token !== undefined) return { token: read("token", nats.token) };
  if (nats.nkey !== undefined) return { nkey: read("nkey", nats.nkey) };
  return nats.creds === undefined ? undefined : { creds: read("creds", nats.creds) };
}

function tlsOf({ tls }: Nats): NatsTls | true | undefined {
  if (tls === undefined) return undefined;
  const pem = (field: string, path: string): string => {
    try {
      return readFileSync(path, "utf8");
    } catch (error) {
      throw new CommandError(`runtime.bus.nats.tls.${field}: ${path} cannot be read`, { cause: error });
    }
  };
  const files = {
    ...(tls.caFile === "" ? {} : { ca: pem("ca_file", tls.caFile) }),
    ...(tls.certFile === "" ? {} : { cert: pem("cert_file", tls.certFile) }),
    ...(tls.keyFile === "" ? {} : { key: pem("key_file", tls.keyFile) }),
  };
  return Object.keys(files).length === 0 ? true : files;
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.message : "unknown";
}

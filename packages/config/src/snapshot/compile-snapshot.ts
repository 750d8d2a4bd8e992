import type { ConfigSnapshot } from "@switchyard/core";
import type { Config } from "@switchyard/proto/config/v1/config";
import type { Fault } from "../fault.ts";
import { compileDirect, compileGroups } from "./compile-groups.ts";
import { compileNativeEndpoints } from "./native-endpoints.ts";
import { compileKeys, compileOpenKey } from "./compile-keys.ts";
import { configHash } from "./config-hash.ts";
import type { SecretSource } from "./secret-source.ts";

/** What a snapshot needs beside the config. */
export interface CompileOptions {
  /** Of the store; 1 for a file alone. */
  readonly revision: number;
  /** Where secrets of caller keys are read. */
  readonly secrets: SecretSource;
  /** Told of each key that is left out because its secret is not there; names the variable, never its value. */
  readonly onWarning?: (warning: Fault) => void;
}

/** The snapshot that routers hold, from a config without faults. A new one each time (invariant 8). */
export function compileSnapshot(config: Config, options: CompileOptions): ConfigSnapshot {
  const groups = compileGroups(config);
  return {
    revision: options.revision,
    hash: configHash(config),
    groups,
    direct: compileDirect(groups.values()),
    keys: compileKeys(config, options.secrets, options.onWarning ?? (() => {})),
    openKey: compileOpenKey(config),
    nativeEndpoints: compileNativeEndpoints(config),
    defaultFallbacks: new Map(config.projects.map(({ name, defaultFallbacks }) => [name, defaultFallbacks])),
  };
}

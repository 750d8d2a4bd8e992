export { decodeConfig } from "./decode/decode-config.ts";
export { durationMs, formatDuration, parseDuration } from "./decode/duration.ts";
export { encodeConfig, encodeMessage } from "./decode/encode-config.ts";
export { nearest } from "./decode/nearest.ts";
export { choices, shortName, wrappedList } from "./decode/schema-forms.ts";
export { diffConfigs } from "./diff-configs.ts";
export { formatFault, type Fault } from "./fault.ts";
export { loadConfigFile, type LoadedFile } from "./file/load-config-file.ts";
export {
  watchConfigFile,
  type ConfigChange,
  type ConfigWatcher,
  type WatchOptions,
} from "./file/watch-config-file.ts";
export { isUsable } from "./is-usable.ts";
export { presetPolicy } from "./presets/presets.ts";
export { resolvePolicy } from "./presets/resolve-policy.ts";
export { compileGroups } from "./snapshot/compile-groups.ts";
export { compileSnapshot, type CompileOptions } from "./snapshot/compile-snapshot.ts";
export { configHash, sha256Hex } from "./snapshot/config-hash.ts";
export { nativePaths } from "./snapshot/native-endpoints.ts";
export { keepsResponses, readProviders, type ProviderAccount } from "./snapshot/provider-account.ts";
export {
  credentialReference,
  describeReference,
  processSecrets,
  resolveSecret,
  type ResolvedSecret,
  type SecretReference,
  type SecretSource,
} from "./snapshot/secret-source.ts";
export { DEFAULT_LISTEN, parseListen, type ListenAddress } from "./validate/listen.ts";
export { NOT_IN_FORCE } from "./validate/not-yet.ts";
export { validateConfig, type Findings, type LoadedConfig } from "./validate/validate-config.ts";

import type { Config } from "@switchyard/proto/config/v1/config";
import { decodeConfig } from "../decode/decode-config.ts";
import { pathAndAround } from "../fault.ts";
import type { Fault } from "../fault.ts";
import type { Check } from "./check.ts";
import {
  deploymentCounts,
  knownProviders,
  listedOnce,
  percentTotals,
  sameEmbeddingModel,
} from "./deployments.ts";
import { fallbackLoops, knownFallbacks } from "./fallbacks.ts";
import { distinctSecrets, keyReferences, knownProjects, pinnedKeys } from "./keys.ts";
import { printableGroupNames, uniqueNames } from "./names.ts";
import { nativeEndpointPaths, noNativeInEndpoints } from "./native-endpoints.ts";
import { notYet } from "./not-yet.ts";
import { benchTables, boundedTimes, expressions, risingRamps, stickyListTimes } from "./policies.ts";
import {
  baseUrls,
  endpointsServed,
  familiesServed,
  fieldsOfOtherFamilies,
  googleProjects,
  missingCredentials,
  regions,
} from "./providers.ts";
import { listenAddresses, natsServers, openAccess, peerUrls } from "./runtime.ts";
import { secretReferences } from "./secrets.ts";
import { checkStructure } from "./structural.ts";

/** What is wrong with a config (it must not be applied) and what is only worth saying. */
export interface Findings {
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
}

/** A config that was read, and what was found about it. `config` is there only when there are no faults. */
export interface LoadedConfig extends Findings {
  readonly config: Config | undefined;
}

/** R11 and its like: what the schema's annotations cannot say. */
const CHECKS: readonly Check[] = [
  listenAddresses,
  openAccess,
  natsServers,
  peerUrls,
  uniqueNames,
  printableGroupNames,
  familiesServed,
  baseUrls,
  regions,
  googleProjects,
  nativeEndpointPaths,
  noNativeInEndpoints,
  secretReferences,
  deploymentCounts,
  knownProviders,
  listedOnce,
  percentTotals,
  expressions,
  stickyListTimes,
  risingRamps,
  benchTables,
  boundedTimes,
  knownFallbacks,
  fallbackLoops,
  knownProjects,
  keyReferences,
  pinnedKeys,
  distinctSecrets,
];

const WARNINGS: readonly Check[] = [
  endpointsServed,
  sameEmbeddingModel,
  missingCredentials,
  fieldsOfOtherFamilies,
  notYet,
];

/** Checks a config file's text or a message, and finds every fault, not just the first. Never throws. */
export function validateConfig(source: string | Config): LoadedConfig {
  if (typeof source !== "string") return checked(source, []);
  const { config, faults } = decodeConfig(source);
  return config === undefined ? { config, faults, warnings: [] } : checked(config, faults);
}

/** `decoding`: faults that reading found; what they left unset is not reported again. */
function checked(config: Config, decoding: readonly Fault[]): LoadedConfig {
  const decodingPaths = new Set(decoding.map(({ path }) => path));
  const incomplete = new Set(decoding.flatMap(({ path }) => pathAndAround(path)));
  const structural = checkStructure(config).filter(
    ({ path }) => !incomplete.has(path) && !isExplained(path, decodingPaths),
  );
  const earlier = new Set([...decodingPaths, ...structural.map(({ path }) => path)]);
  const referential = CHECKS.flatMap((check) => check(config)).filter(
    ({ path }) => !isExplained(path, earlier),
  );
  const faults = [...decoding, ...structural, ...referential];
  const warnings = WARNINGS.flatMap((check) => check(config));
  return { config: faults.length === 0 ? config : undefined, faults, warnings };
}

/** Whether an earlier fault is about the same place or one around it. */
function isExplained(path: string, earlier: ReadonlySet<string>): boolean {
  return pathAndAround(path).some((each) => earlier.has(each));
}

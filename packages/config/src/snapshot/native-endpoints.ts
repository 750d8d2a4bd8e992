import type { Config } from "@switchyard/proto/config/v1/config";
import { FamilySchema } from "@switchyard/proto/config/v1/family";
import { shortName } from "../decode/schema-forms.ts";

/** Families that serve each native endpoint of a valid config, by its path. */
export function compileNativeEndpoints(config: Config): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(
    config.nativeEndpoints.map(({ path, providerFamilies }) => [
      path,
      new Set(providerFamilies.map((family) => shortName(FamilySchema, family))),
    ]),
  );
}

/** Paths of the native endpoints of a valid config: all of them that a part needs that decides nothing. */
export function nativePaths(config: Config): ReadonlySet<string> {
  return new Set(config.nativeEndpoints.map(({ path }) => path));
}

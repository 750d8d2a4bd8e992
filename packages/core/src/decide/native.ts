import type { Deployment } from "../domain/deployment.ts";
import type { DecideInput } from "./input.ts";

/** Families that serve the native endpoint that is asked for; undefined where the config names no such path. */
export function nativeFamilies({ config, request }: DecideInput): ReadonlySet<string> | undefined {
  return config.nativeEndpoints?.get(request.facts.path);
}

/** R5: whether a deployment serves the native endpoint that is asked for. An account's `endpoints` say nothing about it. */
export function servesNative(input: DecideInput, { family }: Deployment): boolean {
  return nativeFamilies(input)?.has(family) === true;
}

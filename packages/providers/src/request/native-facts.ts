import { type BodyFacts, type BodyFault, readRequestFacts } from "./facts.ts";
import { opaqueFacts } from "./opaque-facts.ts";

/** A call of a native endpoint. */
export interface NativeCall {
  /** As called, which is as the config names it. */
  readonly path: string;
  /** Why the body names no model that could be read. It can still be routed where the key leaves no choice (R2, R3). */
  readonly fault: BodyFault | undefined;
}

/** Reads what routing needs of a native endpoint's body, which may be anything at all. */
export function factsOfNative(
  path: string,
  body: Uint8Array,
): { readonly facts: BodyFacts; readonly call: NativeCall } {
  const read = readRequestFacts("native", body);
  return read.ok
    ? { facts: read.facts, call: { path, fault: undefined } }
    : { facts: opaqueFacts("native", body.length), call: { path, fault: read.fault } };
}

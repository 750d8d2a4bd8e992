import { Endpoint } from "@switchyard/proto/config/v1/config";
import type { Fault } from "../fault.ts";
import { eachAt } from "./check.ts";
import type { Check } from "./check.ts";

/** Segments as RFC 3986 has them but without escapes: one path has one spelling. */
const PATH = /^(?:\/[\w.~!$&'()*+,;=:@-]+)+$/;
const DOTS = /\/\.{1,2}(?:\/|$)/;
/** Paths of ours (contracts 3); what is below them is ours too. */
const OWN = ["/v1/chat/completions", "/v1/embeddings", "/v1/responses", "/v1/messages", "/v1/models"];

/** Native endpoints are paths as requests bring them, and none that is served already. */
export const nativeEndpointPaths: Check = (config) => {
  const faults: Fault[] = [];
  eachAt(config.nativeEndpoints, "native_endpoints", ({ path }, at) => {
    const message = pathFault(path);
    if (message !== undefined) faults.push({ path: `${at}.path`, message });
  });
  return faults;
};

function pathFault(path: string): string | undefined {
  if (/[?#]/.test(path)) return "must be a path alone: callers' queries are passed on";
  if (path.endsWith("/")) return "must not end in /, which is cut off requests";
  if (!PATH.test(path) || DOTS.test(path)) {
    return "must be a plain path, such as /v1/name: no empty or dotted segments, no escapes, ASCII only";
  }
  const own = OWN.find((each) => path === each || path.startsWith(`${each}/`));
  return own === undefined ? undefined : `is below ${own}, which is served already`;
}

/** Which families serve a native endpoint is said there, for all their accounts at once. */
export const noNativeInEndpoints: Check = (config) => {
  const faults: Fault[] = [];
  eachAt(config.providers, "providers", ({ endpoints }, at) => {
    eachAt(endpoints?.values ?? [], `${at}.endpoints`, (value, path) => {
      if (value !== Endpoint.NATIVE) return;
      faults.push({ path, message: '"native" is said by native_endpoints, not by an account' });
    });
  });
  return faults;
};

import type { CallerKey, CallerUser, PlainData } from "../domain/config-snapshot.ts";

/** What an expression selects (F5). */
export type Selector =
  | { readonly from: "header"; readonly name: string }
  | { readonly from: "query"; readonly name: string }
  | { readonly from: "param"; readonly name: string }
  | { readonly from: "user_sub" }
  | { readonly from: "user_data"; readonly path: readonly string[] }
  | { readonly from: "custom"; readonly path: readonly string[] };

/** The part of a request that selectors read. */
export interface SelectableRequest {
  /** Value of a header, by its lower-case name; undefined when absent. */
  header(name: string): string | undefined;
  /** First value of a query parameter, decoded; undefined when absent. */
  query(name: string): string | undefined;
  /** Value of a path parameter, decoded; undefined when absent. */
  param(name: string): string | undefined;
}

/** Whose data a selector reads: whoever holds the request evaluates the one kind, `decide` the other. */
export function selectorReads(selector: Selector): "request" | "key" {
  return selector.from === "header" || selector.from === "query" || selector.from === "param"
    ? "request"
    : "key";
}

/** The value that a selector finds in a request; undefined for those that read the key. */
export function selectFromRequest(selector: Selector, request: SelectableRequest): unknown {
  switch (selector.from) {
    case "header":
      return request.header(selector.name);
    case "query":
      return request.query(selector.name);
    case "param":
      return request.param(selector.name);
    default:
      return undefined;
  }
}

/** The value that a selector finds at the caller's key; undefined for those that read the request. */
export function selectFromKey(
  selector: Selector,
  key: Pick<CallerKey, "name" | "user" | "metadata">,
): unknown {
  switch (selector.from) {
    case "user_sub":
      return callerName(key);
    case "user_data":
      return follow(key.user?.data, selector.path);
    case "custom":
      return follow(key.metadata, selector.path);
    default:
      return undefined;
  }
}

/** Who calls: the key's `user.sub`, else its name. */
export function callerName(key: { readonly name: string; readonly user?: CallerUser | undefined }): string {
  return key.user?.sub ?? key.name;
}

/** Own properties only: a selector finds data, never what JavaScript adds to it. */
function follow(data: PlainData | undefined, path: readonly string[]): unknown {
  let value: unknown = data;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as PlainData)[name];
  }
  return value;
}

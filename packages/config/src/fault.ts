/** One thing that is wrong with a config, or worth saying about it. Never holds a secret (invariant 9). */
export interface Fault {
  /** `groups[0].policy.retry.max_retries`; `3:5` (line:column) for a text that is no YAML; empty for the whole. */
  readonly path: string;
  /** In plain words, what is wrong and what would be right. */
  readonly message: string;
}

/** `path: message`, one line. */
export function formatFault(fault: Fault): string {
  return fault.path === "" ? fault.message : `${fault.path}: ${fault.message}`;
}

/** The path of a field inside `parent`. */
export function fieldPath(parent: string, name: string): string {
  return parent === "" ? name : `${parent}.${name}`;
}

/** The path of a place in the list at `parent`. */
export function itemPath(parent: string, index: number): string {
  return `${parent}[${index}]`;
}

/** `path` and the places around it, innermost first: `a[0].b`, `a[0]`, `a`. */
export function pathAndAround(path: string): string[] {
  const around = [...path.matchAll(/[.[]/g)].map(({ index }) => path.slice(0, index));
  return [path, ...around.toReversed()].filter((each) => each !== "");
}

import { affinityValue, groupKey, parseExpression, selectFromKey, selectorReads } from "@switchyard/core";
import type { CallerKey, Selector } from "@switchyard/core";
import { AffinityBy } from "@switchyard/proto/config/v1/policy";
import type { Config } from "@switchyard/proto/config/v1/config";
import type { RequestAffinity } from "./affinity-reader.ts";

type Caller = Pick<CallerKey, "name" | "user" | "metadata">;

interface Selected {
  readonly expression: string;
  readonly selector: Selector;
}

const NONE: readonly string[] = [];
const ABSENT = "is not there";

/** F6: for the log, why a group that places by an expression had no key to place a request by. Shows no value (F7). */
export class AffinityReasons {
  #groups: ReadonlyMap<string, Selected> = new Map();
  #callers: ReadonlyMap<string, Caller> = new Map();

  use(config: Config): void {
    const groups = new Map<string, Selected>();
    for (const { name, project, policy } of config.groups) {
      const expression = policy?.affinity?.expression ?? "";
      if (policy?.affinity?.by !== AffinityBy.EXPRESSION) continue;
      const parsed = parseExpression(expression);
      if (parsed.ok)
        groups.set(groupKey(project || "default", name), { expression, selector: parsed.selector });
    }
    this.#groups = groups;
    const readsKeys = [...groups.values()].some(({ selector }) => selectorReads(selector) === "key");
    const callers = (readsKeys ? config.keys : []).map(({ name, user, metadata }): [string, Caller] => [
      name,
      { name, user: user && { sub: user.sub || undefined, data: user.data }, metadata },
    ]);
    this.#callers = new Map(callers);
  }

  /**
   * Each with its expression. Of a request that reached no group, all that its own values were rejected for.
   *
   * @param group the key of the one that served or was tried last
   */
  why(affinity: RequestAffinity, group: string | undefined, keyName: string | undefined): readonly string[] {
    if (group === undefined) {
      return affinity.rejected.size === 0 ? NONE : [...affinity.rejected].map((pair) => pair.join(" "));
    }
    const selected = this.#groups.get(group);
    if (selected === undefined) return NONE;
    const { expression, selector } = selected;
    const reason =
      selectorReads(selector) === "request"
        ? whyNotOfRequest(affinity, expression)
        : whyNotOfCaller(selector, this.#callers.get(keyName ?? ""));
    return reason === undefined ? NONE : [`${expression} ${reason}`];
  }
}

function whyNotOfRequest({ hashes, rejected }: RequestAffinity, expression: string): string | undefined {
  if (hashes?.expressions[expression] !== undefined) return undefined;
  return rejected.get(expression) ?? ABSENT;
}

function whyNotOfCaller(selector: Selector, caller: Caller | undefined): string | undefined {
  if (caller === undefined) return ABSENT;
  const value = affinityValue(selectFromKey(selector, caller));
  return value.ok ? undefined : value.why;
}

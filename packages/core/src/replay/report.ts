import { groupOf, type ConfigSnapshot } from "../domain/config-snapshot.ts";
import type { Price } from "../domain/deployment.ts";
import { expectedInputTokens, expectedOutputTokens } from "../domain/expected-tokens.ts";
import type { EpochMs } from "../domain/ports.ts";
import { tokenCost } from "../domain/token-cost.ts";
import type { DecisionLine, TakenRefusal } from "./line.ts";
import type { RecordedCall, Story } from "./story.ts";
import { addTo, compare, newSide, withShares, type Compared, type Row, type Side } from "./tally.ts";

/** Where the end of a replayed call comes from: the log's same call, a failure of the request's own, a draw, nowhere. */
export type CallSource = "recorded" | "own" | "drawn" | "unknown";

/** A call as it would be made, and where its end comes from. */
export interface ReplayedCall extends RecordedCall {
  readonly source: CallSource;
}

/** What became of a request: its calls in their order, and the refusal that ended it, if one did. */
export interface Ended<Call = RecordedCall> {
  readonly calls: readonly Call[];
  readonly refusal: TakenRefusal | undefined;
}

/** How traffic, price and failures of a log would move under a config. */
export interface ReplayReport {
  readonly log: {
    readonly from: EpochMs;
    readonly to: EpochMs;
    readonly decisions: number;
    readonly requests: number;
    /** Decisions whose request began before the log, in another router's, or too long ago. */
    readonly orphans: number;
    /** Lines that were not written. */
    readonly dropped: number;
    /** Hashes of the configs that the decisions were made on, at most eight. */
    readonly configs: readonly string[];
  };
  readonly config: { readonly revision: number; readonly hash: string };
  readonly total: Compared;
  /** By the group asked for, in order of name. */
  readonly groups: readonly (Compared & { readonly group: string })[];
  /** By the group that calls, in order of name. */
  readonly deployments: readonly Row[];
  readonly refusals: readonly { readonly code: string; readonly before: number; readonly after: number }[];
  /** Requests whose first decision comes out otherwise. */
  readonly moved: number;
  /** Replayed calls, by where their end comes from. */
  readonly ends: Readonly<Record<CallSource, number>>;
  readonly changes: ReplayChanges;
}

/** What thresholds are set on. */
export interface ReplayChanges {
  /** Most that any deployment's share of its group's calls moves, in percentage points. */
  readonly share: number;
  /** How much the price of all answers moves, in percent of what it was; null where there was none and now is one. */
  readonly cost: number | null;
  /** Requests that no provider would answer, in percent. */
  readonly failureRate: number;
}

const MAX_CONFIGS = 8;
const NOBODY = "(none)";

/** Adds up what becomes of requests. */
export class ReportBuilder {
  readonly #config: ConfigSnapshot;
  readonly #total = { before: newSide(), after: newSide() };
  readonly #groups = new Map<string, { readonly before: Side; readonly after: Side }>();
  readonly #deployments = new Map<string, Row>();
  readonly #refusals = new Map<string, { before: number; after: number }>();
  readonly #ends: Record<CallSource, number> = { recorded: 0, own: 0, drawn: 0, unknown: 0 };
  readonly #configs = new Set<string>();
  #decisions = 0;
  #requests = 0;
  #orphans = 0;
  #dropped = 0;
  #moved = 0;
  #from = Number.POSITIVE_INFINITY;
  #to = 0;

  /** @param config the candidate */
  constructor(config: ConfigSnapshot) {
    this.#config = config;
  }

  /** A decision of the log. */
  line({ now, config }: DecisionLine, orphan: boolean): void {
    this.#decisions += 1;
    if (orphan) this.#orphans += 1;
    this.#from = Math.min(this.#from, now);
    this.#to = Math.max(this.#to, now);
    if (this.#configs.size < MAX_CONFIGS) this.#configs.add(config.hash);
  }

  dropped(lines: number): void {
    this.#dropped += lines;
  }

  /** A request as it went, and as it would go. */
  request(story: Story, before: Ended, after: Ended<ReplayedCall>): void {
    this.#requests += 1;
    if (firstOf(before) !== firstOf(after)) this.#moved += 1;
    for (const { source } of after.calls) this.#ends[source] += 1;
    this.#add("before", story, before);
    this.#add("after", story, after);
  }

  finish(): ReplayReport {
    const deployments = withShares([...this.#deployments.values()].toSorted(byName));
    const { before, after } = this.#total;
    return {
      log: {
        from: this.#requests === 0 ? 0 : this.#from,
        to: this.#to,
        decisions: this.#decisions,
        requests: this.#requests,
        orphans: this.#orphans,
        dropped: this.#dropped,
        configs: [...this.#configs].toSorted(),
      },
      config: { revision: this.#config.revision, hash: this.#config.hash },
      total: compare(this.#total),
      groups: sorted(this.#groups).map(([group, sides]) => ({ group, ...compare(sides) })),
      deployments,
      refusals: sorted(this.#refusals).map(([code, counts]) => ({ code, ...counts })),
      moved: this.#moved,
      ends: this.#ends,
      changes: {
        share: deployments.reduce(
          (most, row) => Math.max(most, Math.abs(row.after.share - row.before.share)),
          0,
        ),
        cost: changeOf(before.costUsd, after.costUsd),
        failureRate: after.requests === 0 ? 0 : (100 * (after.requests - after.answered)) / after.requests,
      },
    };
  }

  #add(when: "before" | "after", story: Story, ended: Ended): void {
    const { calls, refusal } = ended;
    if (refusal !== undefined && !refusal.exhausted) this.#refuse(when, refusal.code);
    const last = calls.at(-1);
    const served = last !== undefined && last.failure === undefined ? last : undefined;
    const costUsd = served && priceOf(story, served.taken.price);
    const asked = (calls[0]?.taken ?? refusal)?.asked ?? NOBODY;
    addTo(this.#total[when], calls, costUsd);
    addTo(this.#groupOf(asked)[when], calls, costUsd);
    for (const call of calls) this.#rowOf(call)[when].calls += 1;
    for (const call of calls) if (call.failure !== undefined) this.#rowOf(call)[when].failed += 1;
    if (served === undefined) return;
    const row = this.#rowOf(served)[when];
    row.answered += 1;
    row.costUsd += costUsd ?? 0;
  }

  #refuse(when: "before" | "after", code: string): void {
    let counts = this.#refusals.get(code);
    if (counts === undefined) this.#refusals.set(code, (counts = { before: 0, after: 0 }));
    counts[when] += 1;
  }

  #groupOf(group: string): { readonly before: Side; readonly after: Side } {
    let sides = this.#groups.get(group);
    if (sides === undefined) this.#groups.set(group, (sides = { before: newSide(), after: newSide() }));
    return sides;
  }

  #rowOf({ taken: { group, deployment } }: RecordedCall): Row {
    const key = `${group}\n${deployment}`;
    let row = this.#deployments.get(key);
    if (row === undefined) {
      const none = { calls: 0, share: 0, failed: 0, answered: 0, costUsd: 0 };
      const known = groupOf(this.#config, group)?.deployments.some(({ id }) => id === deployment) === true;
      row = { group, deployment, gone: !known, before: { ...none }, after: { ...none } };
      this.#deployments.set(key, row);
    }
    return row;
  }
}

/** Whom the first decision calls, or how it refuses. */
function firstOf({ calls: [first], refusal }: Ended): string {
  if (first !== undefined) return JSON.stringify([first.taken.group, first.taken.deployment]);
  return refusal === undefined ? "" : `${refusal.status} ${refusal.code}`;
}

/** USD, from the tokens that were used, where that is known, else those that its size lets expect; undefined without a price. */
function priceOf(story: Story, price: Price | undefined): number | undefined {
  if (price === undefined) return undefined;
  const { facts } = story.first;
  // What a caller's own key pays for is no price of ours (E9).
  if (facts.ownKeyProvider !== undefined) return 0;
  const expected = { input: expectedInputTokens(facts), output: expectedOutputTokens(facts) };
  return tokenCost(story.usage() ?? expected, price);
}

/** In percent; null for infinity, which JSON has no word for. */
function changeOf(before: number, after: number): number | null {
  if (before === after) return 0;
  return before === 0 ? null : (100 * (after - before)) / before;
}

function byName(left: Row, right: Row): number {
  return compareText(left.group, right.group) || compareText(left.deployment, right.deployment);
}

function sorted<Value>(map: ReadonlyMap<string, Value>): [string, Value][] {
  return [...map].toSorted(([left], [right]) => compareText(left, right));
}

/** By code unit, which is the same on every machine. */
function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

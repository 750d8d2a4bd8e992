/**
 * Calls that this router has just decided. A lease ends once and in one of four ways, so that counters cannot drift:
 *
 * - its holder, the forwarder that makes the call, reports: from then on its own gauge shows the call;
 * - an outcome quotes it;
 * - nothing is heard of it: with a holder after {@link REPORT_TTL_MS}, without one at its expiry;
 * - there are more than {@link MAX_LEASES}: the oldest gives way.
 */
import type { Effect } from "../domain/decision.ts";
import { minuteOf } from "../domain/load.ts";
import type { EpochMs } from "../domain/ports.ts";
import type { Account } from "./account.ts";
import { REPORT_TTL_MS } from "./report.ts";

/** Most leases at a time. */
export const MAX_LEASES = 100_000;

/**
 * A report shows the calls that were decided this long before it came, ms: the way of the decision and of the report.
 * Where the ways are longer, calls decided within them miss from the count until the next report; where they are
 * shorter, calls decided within this time count twice until then.
 */
export const SETTLE_MS = 2;

/** Leases looked at for their expiry with each new one. */
const SWEPT_EACH_TIME = 4;

type LeaseEffect = Extract<Effect, { kind: "lease" }>;

interface Lease {
  readonly decision: string;
  readonly account: Account;
  readonly minute: number;
  readonly tokens: number;
  readonly requests: number;
  readonly startsAt: EpochMs;
  readonly expiresAt: EpochMs;
  readonly held: boolean;
  /** Whether it counts as in flight. */
  live: boolean;
}

/** All leases of one router. */
export class Leases {
  readonly #leases = new Map<string, Lease>();
  /** By holder: those that no report of the holder shows yet, ended ones too, which the minute still counts. */
  readonly #unreported = new Map<string, Lease[]>();
  #hand: Iterator<Lease> | undefined;

  get size(): number {
    return this.#leases.size;
  }

  /**
   * @param holder reporter that will make the call; undefined for callers that report nothing
   */
  open(effect: LeaseEffect, account: Account, holder: string | undefined, now: EpochMs): void {
    const lease: Lease = {
      decision: effect.decision,
      account,
      minute: minuteOf(now),
      tokens: effect.tokens,
      requests: effect.ownKey ? 0 : 1,
      startsAt: effect.startsAt,
      expiresAt:
        holder === undefined ? effect.expiresAt : Math.min(effect.expiresAt, effect.startsAt + REPORT_TTL_MS),
      held: holder !== undefined,
      live: true,
    };
    account.lease(1);
    account.count(lease.minute, lease.requests, lease.tokens);
    this.#leases.set(lease.decision, lease);
    if (holder !== undefined) {
      const waiting = this.#unreported.get(holder);
      if (waiting === undefined) this.#unreported.set(holder, [lease]);
      else waiting.push(lease);
    }
    if (this.#leases.size > MAX_LEASES) this.#endOldest();
    this.#sweepSome(now);
  }

  /** An outcome quotes a decision. A second one, or one of a lease that is over, changes nothing. */
  end(decision: string, failed: boolean): void {
    const lease = this.#leases.get(decision);
    if (lease === undefined) return;
    // A failed call gives back what it had reserved. A holder's report will count the call itself.
    if (failed && !lease.held) lease.account.count(lease.minute, 0, -lease.tokens);
    this.#close(lease);
  }

  /** A holder has reported: its calls that began a while ago are in its own counts now. */
  settle(holder: string, now: EpochMs): void {
    const waiting = this.#unreported.get(holder);
    if (waiting === undefined) return;
    const kept: Lease[] = [];
    for (const lease of waiting) {
      if (lease.startsAt + SETTLE_MS > now) {
        kept.push(lease);
        continue;
      }
      lease.account.count(lease.minute, -lease.requests, -lease.tokens);
      this.#close(lease);
    }
    if (kept.length === 0) this.#unreported.delete(holder);
    else this.#unreported.set(holder, kept);
  }

  /** Ends all that have expired. To be called about every second. */
  sweep(now: EpochMs): void {
    for (const lease of this.#leases.values()) if (lease.expiresAt <= now) this.#close(lease);
    for (const [holder, waiting] of this.#unreported) {
      const kept = waiting.filter((lease) => lease.startsAt + REPORT_TTL_MS > now);
      if (kept.length === 0) this.#unreported.delete(holder);
      else this.#unreported.set(holder, kept);
    }
  }

  #close(lease: Lease): void {
    if (!lease.live) return;
    lease.live = false;
    lease.account.lease(-1);
    this.#leases.delete(lease.decision);
  }

  #endOldest(): void {
    const oldest = this.#leases.values().next();
    if (oldest.done !== true) this.#close(oldest.value);
  }

  /** A clock's hand over all leases, so that expiry costs the same with every decision. */
  #sweepSome(now: EpochMs): void {
    this.#hand ??= this.#leases.values();
    for (let looked = 0; looked < SWEPT_EACH_TIME; looked += 1) {
      const next = this.#hand.next();
      if (next.done === true) {
        this.#hand = undefined;
        return;
      }
      if (next.value.expiresAt <= now) this.#close(next.value);
    }
  }
}

import { formatAttemptsHeader, outcomeName } from "@switchyard/core";
import type { AttemptOutcome, ErrorClass } from "@switchyard/core";

/** One line of `x-ants-attempts` (H1). */
export interface AttemptEntry {
  readonly deployment: string;
  outcome: AttemptOutcome;
  readonly ms: number;
  readonly status: number | undefined;
  readonly error: ErrorClass | undefined;
  readonly message: string | undefined;
}

/** The failed attempts of one request, in order. */
export class AttemptLog {
  readonly entries: AttemptEntry[] = [];

  add(entry: Omit<AttemptEntry, "outcome">): void {
    this.entries.push({ ...entry, outcome: outcomeName(entry.error, false) });
  }

  /** The router knows how the last attempt's end is called: only it sees that it was benched instead of waited for. */
  nameLast(outcome: string): void {
    const last = this.entries.at(-1);
    if (last !== undefined && outcome !== "") last.outcome = outcome as AttemptOutcome;
  }

  get count(): number {
    return this.entries.length;
  }

  /** The header's value, with `current` as the attempt that serves. */
  header(current?: AttemptEntry): string {
    return formatAttemptsHeader(current === undefined ? this.entries : [...this.entries, current]);
  }

  /** The same list for the trace, without messages: a provider's may quote the prompt (invariant 9). */
  traced(current?: AttemptEntry): string {
    const all = current === undefined ? this.entries : [...this.entries, current];
    return formatAttemptsHeader(all.map((entry) => ({ ...entry, message: undefined })));
  }
}

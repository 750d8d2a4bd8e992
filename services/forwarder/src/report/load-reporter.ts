import { randomUUID } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import type { EventBus } from "@switchyard/bus";
import { loadReportToWire, SUBJECTS } from "@switchyard/cluster";
import { LoadCounters, REPORT_EVERY_MS } from "@switchyard/core";
import type { BegunCall, CountedCall } from "@switchyard/core";
import { LoadReportSchema } from "@switchyard/proto/events/v1/events";
import type { LoadReport as WireReport } from "@switchyard/proto/events/v1/events";

/** Tells every router what this forwarder has under way and how fast it is; silent while there is nothing to tell. */
export class LoadReporter {
  /** How routers know whose report shows a call; unique for each start. */
  readonly reporter: string = randomUUID();
  readonly #bus: EventBus;
  readonly #subject: string;
  readonly #now: () => number;
  readonly #counters = new LoadCounters(this.reporter);
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: { readonly bus: EventBus; readonly name: string; readonly now: () => number }) {
    this.#bus = options.bus;
    this.#subject = SUBJECTS.loadOf(options.name);
    this.#now = options.now;
  }

  /** A decision to call has come; whoever gets the call ends it (invariant 3). */
  begin(call: BegunCall): CountedCall {
    const counted = this.#counters.begin(call, this.#now());
    this.#arm();
    return counted;
  }

  /** Says goodbye to routers: nothing of this forwarder is in flight any more. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#publish(create(LoadReportSchema, { reporter: this.reporter, leaving: true }));
  }

  #arm(): void {
    if (this.#closed) return;
    this.#timer ??= setTimeout(() => this.#report(), REPORT_EVERY_MS);
  }

  /** While calls run there is something to tell, and after the last one once more. */
  #report(): void {
    this.#timer = undefined;
    const report = this.#counters.report(this.#now());
    if (report === undefined) return;
    this.#publish(loadReportToWire(report));
    this.#arm();
  }

  #publish(report: WireReport): void {
    this.#bus.publish(this.#subject, toBinary(LoadReportSchema, report));
  }
}

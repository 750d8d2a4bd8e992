import type { Accounts } from "../accounts.ts";
import type { AffinityReasons } from "../request/affinity-reasons.ts";
import type { ForwarderDeps } from "../deps.ts";
import type { KeptResponses } from "../request/kept-responses.ts";
import type { LoadReporter } from "../report/load-reporter.ts";
import type { OutcomeReporter } from "../report/outcome-reporter.ts";

/** What every run of a forwarder shares. */
export interface RunDeps extends ForwarderDeps {
  readonly accounts: Accounts;
  readonly reporter: OutcomeReporter;
  readonly load: LoadReporter;
  readonly responses: KeptResponses;
  readonly reasons: AffinityReasons;
}

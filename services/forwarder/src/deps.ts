import type { Bus } from "@switchyard/bus";
import type { ConfigFeed } from "@switchyard/cluster";
import type { SecretSource } from "@switchyard/config";
import type { RoutingService } from "@switchyard/proto/routing/v1/routing_service";
import type { ServiceImpl } from "@switchyard/rpc";
import type { Logger, Metrics, Tracer } from "@switchyard/telemetry";
import type { Upstream } from "@switchyard/upstream";
import type { OpenTokens } from "./account-tokens.ts";

/** What a forwarder is made of. */
export interface ForwarderDeps {
  /** Unique among the cluster's forwarders; a token of NATS subjects. */
  readonly name: string;
  readonly router: ServiceImpl<typeof RoutingService>;
  readonly upstream: Upstream;
  readonly bus: Bus;
  readonly config: ConfigFeed;
  readonly secrets: SecretSource;
  /** Gets tokens that accounts send in place of a secret; the clouds' own where absent. */
  readonly openTokens?: OpenTokens | undefined;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Undefined where tracing is off. */
  readonly tracer?: Tracer | undefined;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
}

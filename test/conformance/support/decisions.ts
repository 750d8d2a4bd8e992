import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { createMemoryBus } from "@switchyard/bus";
import { FeedState } from "@switchyard/cluster";
import { formatFault, processSecrets, validateConfig } from "@switchyard/config";
import { Endpoint } from "@switchyard/proto/config/v1/config";
import type { ErrorClass } from "@switchyard/proto/config/v1/policy";
import { DecideRequestSchema, ExplainRequestSchema } from "@switchyard/proto/routing/v1/routing_service";
import type { Attempt, DecideResponse, Explanation } from "@switchyard/proto/routing/v1/routing_service";
import { createRouter } from "@switchyard/router";
import { CallContext } from "@switchyard/rpc";
import { Metrics, SILENT } from "@switchyard/telemetry";
import { seededRandom } from "@switchyard/testkit";
import { stringify } from "yaml";

const KEY = "ck-test-decisions";
const START = 1_700_000_000_000;

/** What a decision goes by, beside the config. */
export interface Asked {
  readonly endpoint?: Endpoint;
  /** Hash of the session (F3). */
  readonly session?: number;
}

/** A router on its own, with a clock that stands and draws from a seed: for laws over many decisions. */
export class Decisions implements AsyncDisposable {
  readonly #bus = createMemoryBus();
  readonly #router: ReturnType<typeof createRouter>;
  readonly #call = new CallContext({ headers: { authorization: `Bearer ${KEY}` } });

  /** The group `g` of these deployments and this policy; providers are what the deployments name, or `providers`. */
  constructor(deployments: readonly Deployment[], policy: object, families: Families = {}) {
    const { config, faults } = validateConfig(configText(deployments, policy, families));
    if (config === undefined) throw new Error(faults.map(formatFault).join("\n"));
    const feed = new FeedState();
    feed.replace({ config, revision: 1 });
    const random = seededRandom(7);
    this.#router = createRouter({
      bus: this.#bus,
      config: feed,
      secrets: processSecrets,
      logger: SILENT,
      metrics: new Metrics(),
      now: () => START,
      seed: () => Math.floor(random() * 2 ** 32),
      name: "r1",
    });
  }

  /** One decision; after `before`, which failed so. */
  decide(
    asked: Asked = {},
    before?: { readonly decided: DecideResponse; readonly error: ErrorClass },
  ): DecideResponse {
    const answer = this.#router.routing.decide(
      create(DecideRequestSchema, {
        facts: factsOf(asked),
        ...(before && {
          continuation: before.decided.continuation,
          failed: { error: before.error, status: 500, durationMs: 5n },
        }),
      }),
      this.#call,
    );
    if (answer instanceof Promise) throw new Error("a decision waits for nobody");
    return answer;
  }

  /** Why a decision comes out as it does (R8). */
  async explain(asked: Asked = {}): Promise<Explanation> {
    const request = create(ExplainRequestSchema, { facts: factsOf(asked) });
    const { decision } = await this.#router.routing.explain(request, this.#call);
    if (decision?.explanation === undefined) throw new Error("no explanation came");
    return decision.explanation;
  }

  /** How many of that many first decisions each deployment gets. */
  counts(requests: number, asked: (index: number) => Asked = () => ({})): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (let index = 0; index < requests; index += 1) {
      const { deployment } = attemptOf(this.decide(asked(index)));
      counts[deployment] = (counts[deployment] ?? 0) + 1;
    }
    return counts;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#router.close();
    await this.#bus.close();
  }
}

export interface Deployment {
  readonly provider: string;
  readonly model: string;
  readonly weight?: number;
}

/** Families of providers by name; `openai_compatible` where none is said. */
export type Families = Readonly<Record<string, object>>;

/** The attempt that a decision is; fails where it refuses. */
export function attemptOf({ decision }: DecideResponse): Attempt {
  if (decision.case !== "attempt") throw new Error(`not an attempt: ${JSON.stringify(decision.value)}`);
  return decision.value;
}

function factsOf({ endpoint = Endpoint.CHAT, session }: Asked): object {
  const path = endpoint === Endpoint.EMBEDDINGS ? "/v1/embeddings" : "/v1/chat/completions";
  return { id: "req_1", endpoint, path, model: "g", ...(session !== undefined && { affinity: { session } }) };
}

function configText(deployments: readonly Deployment[], policy: object, families: Families): string {
  const names = [...new Set(deployments.map(({ provider }) => provider))];
  return stringify({
    providers: names.map((name) => ({
      name,
      family: "openai_compatible",
      base_url: "http://127.0.0.1:1/v1",
      credential: { none: true },
      ...families[name],
    })),
    groups: [{ name: "g", deployments, policy }],
    keys: [{ name: "k", secret: { sha256: createHash("sha256").update(KEY).digest("hex") }, groups: ["g"] }],
  });
}

import { MODEL } from "../wire/loads.ts";

/** Host and port of each listener of one process. */
export interface Listen {
  readonly http?: string;
  readonly rpc: string;
  readonly ops: string;
}

/** Where services run apart. */
export interface Apart {
  readonly natsUrl: string;
  readonly router: string;
  readonly forwarder: string;
  readonly health: string;
}

/** Environment that the config's references need. */
export const SECRETS = { BENCH_PROVIDER_KEY: "sk-provider", BENCH_CALLER_KEY: "sk-bench" };

/** A config as JSON text: one deployment behind the group that is called, and `groups - 1` more beside it. */
export function switchyardConfig(
  upstreamPort: number,
  listen: Listen,
  groups: number,
  apart?: Apart,
): string {
  const names = Array.from({ length: groups }, (_, index) => (index === 0 ? MODEL : `${MODEL}-${index}`));
  return JSON.stringify({
    runtime: {
      listen,
      ...(apart !== undefined && {
        bus: { nats: { servers: [apart.natsUrl] } },
        router: { urls: [apart.router] },
        forwarder: { urls: [apart.forwarder] },
        health: { urls: [apart.health] },
      }),
    },
    projects: [{ name: "default" }],
    providers: [
      {
        name: "stub",
        family: "openai_compatible",
        base_url: `http://127.0.0.1:${upstreamPort}/v1`,
        credential: { env: "BENCH_PROVIDER_KEY" },
      },
    ],
    groups: names.map((name) => ({
      name,
      project: "default",
      deployments: [{ provider: "stub", model: "bench-model-1" }],
      policy: { strategy: "weighted" },
    })),
    keys: [
      {
        name: "bench",
        secret: { env: "BENCH_CALLER_KEY" },
        project: "default",
        groups: names,
      },
    ],
  });
}

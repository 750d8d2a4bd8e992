import { createHash } from "node:crypto";
import { DEMO_MODEL } from "../demo/answers.ts";
import { VENDORS } from "./vendors.ts";
import type { Vendor } from "./vendors.ts";

/** The key that the quickstart accepts. It is no secret: everything listens on loopback only. */
export const QUICKSTART_KEY = "sk-quickstart";
const SECONDS_TO_FINISH = "10s";

type Environment = Readonly<Record<string, string | undefined>>;

export interface QuickstartOptions {
  readonly listen: { readonly http: string; readonly rpc: string; readonly ops: string };
  readonly demo: { readonly steadyUrl: string; readonly flakyUrl: string };
  readonly env: Environment;
}

export interface Quickstart {
  /** The config in the form of a config file. */
  readonly config: object;
  /** Providers that joined because their variable is set. */
  readonly joined: readonly Vendor[];
}

/** What a user without any file gets: a demonstration group that fails over, and whatever real accounts there are. */
export function quickstartConfig(options: QuickstartOptions): Quickstart {
  const joined = VENDORS.filter((vendor) => isThere(vendor, options.env));
  const groups = new Map([["demo", demoGroup()]]);
  for (const vendor of joined) {
    for (const [name, model] of modelsOf(vendor, options.env)) {
      const deployment = { provider: vendor.name, model };
      const present = groups.get(name);
      if (present === undefined) groups.set(name, { name, deployments: [deployment] });
      else present.deployments.push(deployment);
    }
  }
  const config = {
    runtime: { listen: options.listen, auth: "keys", drain: SECONDS_TO_FINISH },
    providers: [
      provider("demo-flaky", options.demo.flakyUrl),
      provider("demo-steady", options.demo.steadyUrl),
      ...joined.map((vendor) => account(vendor, options.env)),
    ],
    groups: [...groups.values()],
    keys: [
      {
        name: "quickstart",
        secret: { sha256: createHash("sha256").update(QUICKSTART_KEY).digest("hex") },
        groups: [...groups.keys()],
        allow_direct: true,
      },
    ],
  };
  return { config, joined };
}

interface GroupData {
  readonly name: string;
  readonly deployments: object[];
  readonly policy?: object;
}

/** One deployment is always asked first and fails now and then; the other takes over. */
function demoGroup(): GroupData {
  return {
    name: "demo",
    deployments: [
      { provider: "demo-flaky", model: DEMO_MODEL, weight: 1 },
      { provider: "demo-steady", model: DEMO_MODEL, weight: 0 },
    ],
    // Without retries on the same deployment the first request already shows a failover.
    policy: { zero_weight: "standby", retry: { max_retries: 0 } },
  };
}

function provider(name: string, baseUrl: string): object {
  return { name, family: "openai_compatible", base_url: baseUrl, credential: { none: true } };
}

function account(vendor: Vendor, env: Environment): object {
  const baseUrl = vendor.baseUrlVariable === undefined ? vendor.baseUrl : env[vendor.baseUrlVariable];
  return {
    name: vendor.name,
    family: vendor.family,
    ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
    credential: { env: vendor.variable },
  };
}

function modelsOf({ chat, embeddings }: Vendor, env: Environment): [group: string, model: string][] {
  const named = chat.modelVariable === undefined ? undefined : env[chat.modelVariable];
  const models: [string, string][] = [[chat.group, named || chat.model]];
  if (embeddings !== undefined) models.push([embeddings.group, embeddings.model]);
  return models;
}

function isThere({ variable, baseUrlVariable }: Vendor, env: Environment): boolean {
  return Boolean(env[variable]) && (baseUrlVariable === undefined || Boolean(env[baseUrlVariable]));
}

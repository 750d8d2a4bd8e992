import { compileSnapshot, decodeConfig, type SecretSource } from "@switchyard/config";
import type { ConfigSnapshot } from "@switchyard/core";
import type { Config } from "@switchyard/proto/config/v1/config";

/** Secrets of tests: the variable's name in lower case is its value. */
export const TEST_SECRETS: SecretSource = { env: (name) => name.toLowerCase(), file: () => undefined };

/** Decodes a config that must be right. */
export function configOf(text: string): Config {
  const { config, faults } = decodeConfig(text);
  if (config === undefined || faults.length > 0) throw new Error(JSON.stringify(faults));
  return config;
}

export function snapshotOf(text: string, revision = 1): ConfigSnapshot {
  return compileSnapshot(configOf(text), { revision, secrets: TEST_SECRETS });
}

/** Two deployments, one failure benches for 5 s. */
export const TWO = `
providers:
  - { name: a, family: openai_compatible, base_url: "http://127.0.0.1:1/v1", credential: { env: A } }
  - { name: b, family: openai_compatible, base_url: "http://127.0.0.1:2/v1", credential: { env: B } }
groups:
  - name: g
    deployments: [{ provider: a, model: m, weight: 100 }, { provider: b, model: m, weight: 1 }]
    policy:
      retry: { max_retries: 0, jitter: false }
      bench: { failures: 1, window: 60s, cooloff: 5s }
keys:
  - { name: k, secret: { env: CK }, groups: [g] }
  - { name: boss, secret: { env: BOSS }, groups: [g], roles: [caller, account_admin] }
`;

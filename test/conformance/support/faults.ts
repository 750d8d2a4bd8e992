import { formatFault, validateConfig } from "@switchyard/config";
import { stringify } from "yaml";

const PROVIDERS = ["a", "b", "c"].map((name) => ({
  name,
  family: "openai_compatible",
  base_url: "http://127.0.0.1:1/v1",
  credential: { none: true },
}));
const SHA256 = "0".repeat(64);

/** What is refused when a config with these groups, and keys that are granted them, is saved. */
export function faultsOf(groups: readonly object[], granted: readonly string[], more: object = {}): string {
  const keys = [{ name: "k", secret: { sha256: SHA256 }, groups: granted }];
  const text = stringify({ providers: PROVIDERS, groups, keys, ...more });
  return validateConfig(text).faults.map(formatFault).join("\n");
}

import type { Credential, KeySecret } from "@switchyard/proto/config/v1/config";
import type { Fault } from "../fault.ts";
import { eachAt } from "./check.ts";
import type { Check } from "./check.ts";

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Starts of well-known kinds of secret; a path looks different. */
const SECRET_START = /^(?:sk|pk|rk|xox[a-z]|gh[a-z]|glpat|hf|gsk|AKIA|AIza|ey[A-Z])[-_A-Za-z0-9]{12,}$/;

/**
 * What stands where a secret is named must be a name. A literal secret there is refused without being shown,
 * since faults are logged (invariant 9).
 */
export const secretReferences: Check = (config) => {
  const faults: Fault[] = [];
  const check = (reference: Credential | KeySecret | undefined, path: string): void => {
    const source = reference?.source;
    if (source?.case === "env" && source.value !== "" && !VARIABLE.test(source.value)) {
      const message =
        "must be the name of an environment variable; if this is the secret itself, put it into a variable and name that";
      faults.push({ path: `${path}.env`, message });
    }
    if (source?.case === "file" && SECRET_START.test(source.value)) {
      const message =
        "must be the path of a file; this looks like a secret: put it into a file and name that";
      faults.push({ path: `${path}.file`, message });
    }
  };
  eachAt(config.providers, "providers", ({ credential }, at) => check(credential, `${at}.credential`));
  eachAt(config.keys, "keys", ({ secret }, at) => check(secret, `${at}.secret`));
  const nats = config.runtime?.bus?.nats;
  check(nats?.password, "runtime.bus.nats.password");
  check(nats?.token, "runtime.bus.nats.token");
  check(nats?.nkey, "runtime.bus.nats.nkey");
  check(nats?.creds, "runtime.bus.nats.creds");
  return faults;
};

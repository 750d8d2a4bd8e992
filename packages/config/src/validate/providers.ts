import type { Provider } from "@switchyard/proto/config/v1/config";
import { EndpointSchema } from "@switchyard/proto/config/v1/config";
import { Family, FamilySchema } from "@switchyard/proto/config/v1/family";
import { capabilities, FAMILIES, isFamilyName } from "@switchyard/providers";
import type { Fault } from "../fault.ts";
import { shortName } from "../decode/schema-forms.ts";
import { eachAt } from "./check.ts";
import type { Check } from "./check.ts";
import { urlFault } from "./url.ts";

/** Only families that this version serves; the others are in the schema already. */
export const familiesServed: Check = (config) => {
  const served: readonly string[] = [...FAMILIES.keys()];
  const faults: Fault[] = [];
  eachAt(config.providers, "providers", ({ family }, at) => {
    const name = familyName(family);
    if (family === Family.UNSPECIFIED || served.includes(name)) return;
    const message = `"${name}" is not served by this version; available are ${served.join(", ")}`;
    faults.push({ path: `${at}.family`, message });
  });
  return faults;
};

const WITHOUT_OWN_ADDRESS: ReadonlySet<Family> = new Set<Family>([
  Family.AZURE_OPENAI,
  Family.OPENAI_COMPATIBLE,
]);

/** Base URLs are plain http(s) URLs, and given where the family has no address of its own. */
export const baseUrls: Check = (config) => {
  const faults: Fault[] = [];
  eachAt(config.providers, "providers", ({ family, baseUrl }, at) => {
    const path = `${at}.base_url`;
    const wrong = baseUrl === "" ? undefined : urlFault(baseUrl, ["http", "https"]);
    if (wrong !== undefined) faults.push({ path, message: wrong });
    if (baseUrl === "" && WITHOUT_OWN_ADDRESS.has(family)) {
      faults.push({ path, message: `is missing; family ${familyName(family)} has no address of its own` });
    }
  });
  return faults;
};

const WITH_REGION: ReadonlySet<Family> = new Set<Family>([Family.BEDROCK, Family.BEDROCK_MANTLE]);

/** AWS's addresses and signatures name a region. */
export const regions: Check = (config) => {
  const faults: Fault[] = [];
  eachAt(config.providers, "providers", ({ family, region }, at) => {
    if (!WITH_REGION.has(family) || /^[a-z]{2}(?:-[a-z]+)+-\d$/.test(region)) return;
    const message = region === "" ? `is missing; family ${familyName(family)} needs one` : "is no AWS region";
    faults.push({ path: `${at}.region`, message });
  });
  return faults;
};

/** Google's paths name a project. */
export const googleProjects: Check = (config) => {
  const faults: Fault[] = [];
  eachAt(config.providers, "providers", ({ family, project }, at) => {
    if (family !== Family.VERTEX || project !== "") return;
    faults.push({ path: `${at}.project`, message: `is missing; family ${familyName(family)} needs one` });
  });
  return faults;
};

/** A warning: an account lists an endpoint that this version cannot send to its family. */
export const endpointsServed: Check = (config) => {
  const warnings: Fault[] = [];
  eachAt(config.providers, "providers", ({ family, endpoints }, at) => {
    const name = familyName(family);
    const served: readonly string[] = isFamilyName(name) ? capabilities(name).served : [];
    eachAt(endpoints?.values ?? [], `${at}.endpoints`, (value, path) => {
      const endpoint = shortName(EndpointSchema, value);
      if (served.includes(endpoint)) return;
      warnings.push({
        path,
        message: `accepted, but "${endpoint}" is not served for family ${name} by this version`,
      });
    });
  });
  return warnings;
};

const FIELDS_OF_FAMILIES = {
  apiVersion: ["api_version", Family.AZURE_OPENAI],
  region: ["region", Family.BEDROCK, Family.BEDROCK_MANTLE],
  project: ["project", Family.OPENAI, Family.VERTEX],
  location: ["location", Family.VERTEX],
  organization: ["organization", Family.OPENAI],
} as const satisfies Partial<Record<keyof Provider, readonly [string, ...Family[]]>>;

/** A warning: a field that belongs to another family has no effect. */
export const fieldsOfOtherFamilies: Check = (config) => {
  const warnings: Fault[] = [];
  eachAt(config.providers, "providers", (provider, at) => {
    for (const [key, [field, ...families]] of Object.entries(FIELDS_OF_FAMILIES)) {
      const isSet = provider[key as keyof typeof FIELDS_OF_FAMILIES] !== "";
      if (!isSet || families.some((family) => family === provider.family)) continue;
      const message = `has no effect for family ${familyName(provider.family)}; it belongs to ${families.map(familyName).join(", ")}`;
      warnings.push({ path: `${at}.${field}`, message });
    }
  });
  return warnings;
};

/** A warning: vendors want a secret. Accounts that need none say so. */
export const missingCredentials: Check = (config) => {
  const warnings: Fault[] = [];
  eachAt(config.providers, "providers", ({ credential, family }, at) => {
    if (credential !== undefined || family === Family.OPENAI_COMPATIBLE) return;
    const name = familyName(family);
    const hasTokens = isFamilyName(name) && FAMILIES.get(name)?.tokens !== undefined;
    const instead = hasTokens ? "what the machine has is used" : "requests go without a secret";
    warnings.push({
      path: `${at}.credential`,
      message: `is missing: ${instead}; write { none: true } if that is meant`,
    });
  });
  return warnings;
};

function familyName(family: Family): string {
  return shortName(FamilySchema, family);
}

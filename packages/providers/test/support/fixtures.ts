import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../../test/fixtures/providers/", import.meta.url));

/** One recorded answer of a provider. */
export interface ProviderCase {
  readonly name: string;
  readonly endpoint: string;
  readonly stream: boolean;
  readonly status: number;
  readonly request: Uint8Array | undefined;
  readonly body: Uint8Array;
}

/** Every recorded answer, as `family/case`. */
export function recordedCases(): readonly ProviderCase[] {
  return readdirSync(ROOT).flatMap(casesOf);
}

/** The recorded answers of these families on one API. */
export function providerCases(families: readonly string[], endpoint: string): readonly ProviderCase[] {
  return families.flatMap(casesOf).filter((found) => found.endpoint === endpoint);
}

function casesOf(family: string): readonly ProviderCase[] {
  return readdirSync(ROOT + family).map((folder) => {
    const name = `${family}/${folder}`;
    const facts = JSON.parse(readFileSync(`${ROOT}${name}/case.json`, "utf8")) as Record<string, unknown>;
    const requestPath = `${ROOT}${name}/request.json`;
    return {
      name,
      endpoint: facts["endpoint"] as string,
      stream: facts["stream"] === true,
      status: facts["status"] as number,
      request: existsSync(requestPath) ? new Uint8Array(readFileSync(requestPath)) : undefined,
      body: new Uint8Array(readFileSync(`${ROOT}${name}/response.body`)),
    };
  });
}

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

/** The recorded answers of these families on one API, as `family/case`. */
export function providerCases(families: readonly string[], endpoint: string): readonly ProviderCase[] {
  return families
    .flatMap((family) => readdirSync(ROOT + family).map((name) => `${family}/${name}`))
    .map((name) => {
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
    })
    .filter((found) => found.endpoint === endpoint);
}

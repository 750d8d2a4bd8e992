import { readProviders } from "@switchyard/config";
import type { Config } from "@switchyard/proto/config/v1/config";
import { originOf, readOrigins } from "@switchyard/providers";
import type { BodyFacts } from "@switchyard/providers";

/** BH-31: which provider a mark on an encrypted content stands for. Made of the names in the config, so it is the same on every replica. */
export class OriginMarks {
  #providers: ReadonlyMap<string, string> = new Map();

  use(config: Config): void {
    this.#providers = new Map(readProviders(config).map(({ name }) => [originOf(name), name]));
  }

  /** The provider that the request's last encrypted contents come from; undefined where they are marked by none that is known. */
  originOf({ endpoint, encrypted }: BodyFacts, body: Uint8Array): string | undefined {
    if (!encrypted || (endpoint !== "responses" && endpoint !== "chat")) return undefined;
    const last = readOrigins(body).at(-1);
    return last === undefined ? undefined : this.#providers.get(last);
  }
}

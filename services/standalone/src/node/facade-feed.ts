import { FeedState } from "@switchyard/cluster";
import type { ConfigFeed } from "@switchyard/cluster";
import type { Config } from "@switchyard/proto/config/v1/config";

/**
 * What a facade alone follows: the stored config once there is one, its own file until then. It waits for neither, since all that it asks a
 * config for is which paths are native endpoints.
 */
export class FacadeFeed extends FeedState {
  readonly #stored: ConfigFeed;

  constructor(stored: ConfigFeed, own: Config) {
    super();
    this.#stored = stored;
    this.replace({ config: own, revision: 0 });
    stored.subscribe((applied) => this.replace(applied));
  }

  override close(): void {
    this.#stored.close();
    super.close();
  }
}

import { startGateway } from "./gateway.ts";
import type { Gateway, GatewayOptions } from "./gateway.ts";
import { closeAll, configOf, SCENE_ENV, setScene } from "./gateway-scene.ts";
import type { Fragment, SceneConfig } from "./gateway-scene.ts";

export type ClusterOptions = Pick<GatewayOptions, "runtime" | "replicas">;

/** Four processes, or more with replicas, whose config is made of what the scenes that play add to it. */
export class SharedCluster {
  readonly gateway: Gateway;
  readonly #fragments = new Set<Fragment>();
  #applied: Promise<void> = Promise.resolve();

  private constructor(gateway: Gateway, first: Fragment) {
    this.gateway = gateway;
    this.#fragments.add(first);
  }

  static async start(options: ClusterOptions): Promise<SharedCluster> {
    const { fragment, upstreams } = await setScene({}, "shared-cluster");
    await closeAll(upstreams);
    const config = configOf([fragment]);
    const gateway = await startGateway({ ...options, form: "four-processes", config, env: SCENE_ENV });
    return new SharedCluster(gateway, fragment);
  }

  /** Resolves when every process works by a config with the fragment in it. */
  async add(fragment: Fragment): Promise<SceneConfig> {
    let own = fragment;
    const leave = (): Promise<void> => {
      this.#fragments.delete(own);
      return Promise.resolve();
    };
    const replace = async (next: Fragment): Promise<void> => {
      await leave();
      own = next;
      this.#fragments.add(own);
      await this.#apply();
    };
    try {
      await replace(own);
    } catch (error) {
      await leave();
      throw error;
    }
    return { replace, leave };
  }

  async #apply(): Promise<void> {
    const apply = (): Promise<void> => this.gateway.apply(configOf(this.#fragments));
    this.#applied = this.#applied.then(apply, apply);
    await this.#applied;
  }
}

let last: { readonly of: string; readonly cluster: Promise<SharedCluster> } | undefined;

/**
 * The cluster that the worker's last file used, where it was started with the same options; else that one makes way for another. Files of
 * a worker run one after the other. It ends with the worker.
 */
export async function clusterFor(options: ClusterOptions): Promise<SharedCluster> {
  const of = JSON.stringify(options);
  if (last?.of !== of) {
    const before = last?.cluster;
    await before?.then(
      ({ gateway }) => gateway.stop(),
      () => undefined,
    );
    // A worker is ended by a signal; what it started goes when it exits.
    if (before === undefined) process.once("SIGTERM", () => process.exit());
    last = { of, cluster: SharedCluster.start(options) };
  }
  try {
    return await last.cluster;
  } catch (error) {
    last = undefined;
    throw error;
  }
}

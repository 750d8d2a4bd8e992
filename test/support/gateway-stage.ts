import { afterAll, beforeAll, describe, expect } from "vitest";
import { FORMS, startGateway } from "./gateway.ts";
import type { Form, Gateway, GatewayOptions } from "./gateway.ts";
import { closeAll, Scene, SCENE_ENV, setScene } from "./gateway-scene.ts";
import type { Fragment, SceneSpec } from "./gateway-scene.ts";

export type StageOptions = Pick<GatewayOptions, "runtime" | "replicas">;

/** Where the scenes of a file play, in one form. */
export interface Stage {
  readonly form: Form;
  /** Sets up upstreams and a group behind a gateway; `await using` frees them. */
  scene(spec?: SceneSpec): Promise<Scene>;
}

/**
 * Runs the tests in both forms. In one process each scene has a gateway of its own; four processes are started once
 * for the file, and each scene adds its own groups to their config, so scenes may play at the same time.
 */
export function forEachForm(title: string, options: StageOptions, tests: (stage: Stage) => void): void {
  for (const form of FORMS) {
    describe(`${title} [${form}]`, () => {
      tests(form === "one-process" ? inOneProcess(options) : inFourProcesses(options));
    });
  }
}

function inOneProcess(options: StageOptions): Stage {
  return {
    form: "one-process",
    scene: async (spec = {}) => {
      const set = await setScene(spec);
      const config = configOf([set.fragment]);
      try {
        const gateway = await startGateway({ ...options, form: "one-process", config, env: SCENE_ENV });
        return new Scene(gateway, set, {
          replace: (fragment) => gateway.apply(configOf([fragment])),
          leave: async () => {
            await gateway.stop();
            expectNoSecrets(gateway);
          },
        });
      } catch (error) {
        await closeAll(set.upstreams);
        throw error;
      }
    },
  };
}

function inFourProcesses(options: StageOptions): Stage {
  let cluster: Gateway | undefined;
  let applied: Promise<void> = Promise.resolve();
  const fragments = new Set<Fragment>();
  beforeAll(async () => {
    const set = await setScene({});
    fragments.add(set.fragment);
    await closeAll(set.upstreams);
    const config = configOf(fragments);
    cluster = await startGateway({ ...options, form: "four-processes", config, env: SCENE_ENV });
  }, 60_000);
  afterAll(async () => {
    await cluster?.stop();
    if (cluster !== undefined) expectNoSecrets(cluster);
  });
  return {
    form: "four-processes",
    scene: async (spec = {}) => {
      if (cluster === undefined) throw new Error("the cluster did not start");
      const gateway = cluster;
      const set = await setScene(spec);
      let { fragment } = set;
      const replace = async (next: Fragment): Promise<void> => {
        fragments.delete(fragment);
        fragment = next;
        fragments.add(fragment);
        applied = applied.catch(() => undefined).then(() => gateway.apply(configOf(fragments)));
        await applied;
      };
      const leave = (): Promise<void> => {
        fragments.delete(fragment);
        return Promise.resolve();
      };
      try {
        await replace(fragment);
      } catch (error) {
        await leave();
        await closeAll(set.upstreams);
        throw error;
      }
      return new Scene(gateway, set, { replace, leave });
    },
  };
}

function configOf(fragments: Iterable<Fragment>): object {
  const all = [...fragments];
  return {
    projects: all.flatMap(({ projects }) => projects),
    providers: all.flatMap(({ providers }) => providers),
    groups: all.flatMap(({ groups }) => groups),
    keys: all.flatMap(({ keys }) => keys),
    native_endpoints: all.flatMap((fragment) => fragment.native_endpoints),
  };
}

function expectNoSecrets(gateway: Gateway): void {
  expect(gateway.logs()).not.toMatch(/UPKEY-[ABC]-|ck-test-/);
}

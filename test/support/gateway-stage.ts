import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { FORMS, startGateway } from "./gateway.ts";
import type { Form, Gateway } from "./gateway.ts";
import { closeAll, configOf, Scene, SCENE_ENV, setScene } from "./gateway-scene.ts";
import type { SceneSpec } from "./gateway-scene.ts";
import { clusterFor, SharedCluster } from "./shared-cluster.ts";
import type { ClusterOptions } from "./shared-cluster.ts";

const ROOT = join(import.meta.dirname, "../..");

export interface StageOptions extends ClusterOptions {
  /** Processes that the file has for itself, started while its environment holds. */
  readonly ownProcesses?: boolean;
}

/** Where the scenes of a file play, in one form. */
export interface Stage {
  readonly form: Form;
  /** Sets up upstreams and a group behind a gateway; `await using` frees them. */
  scene(spec?: SceneSpec): Promise<Scene>;
}

/**
 * Runs the tests in both forms. In one process each scene has a gateway of its own; four processes are shared by all
 * files of a worker, and each scene adds its own groups to their config, so scenes may play at the same time.
 */
export function forEachForm(title: string, options: StageOptions, tests: (stage: Stage) => void): void {
  const file = relative(ROOT, expect.getState().testPath ?? "");
  for (const form of FORMS) {
    describe(`${title} [${form}]`, () => {
      tests(form === "one-process" ? inOneProcess(options, file) : inFourProcesses(options, file));
    });
  }
}

function inOneProcess(options: ClusterOptions, file: string): Stage {
  return {
    form: "one-process",
    scene: async (spec = {}) => {
      const set = await setScene(spec, file);
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

function inFourProcesses(options: StageOptions, file: string): Stage {
  const { ownProcesses = false, ...clusterOptions } = options;
  let cluster: SharedCluster | undefined;
  beforeAll(async () => {
    cluster = ownProcesses ? await SharedCluster.start(clusterOptions) : await clusterFor(clusterOptions);
  }, 60_000);
  afterAll(async () => {
    if (cluster === undefined) return;
    const { gateway } = cluster;
    if (ownProcesses) await gateway.stop();
    expectNoSecrets(gateway);
    gateway.forgetLogs();
  });
  return {
    form: "four-processes",
    scene: async (spec = {}) => {
      if (cluster === undefined) throw new Error("the cluster did not start");
      const { gateway } = cluster;
      const set = await setScene(spec, file);
      try {
        return new Scene(gateway, set, await cluster.add(set.fragment));
      } catch (error) {
        await closeAll(set.upstreams);
        throw error;
      }
    },
  };
}

function expectNoSecrets(gateway: Gateway): void {
  expect(gateway.logs()).not.toMatch(/UPKEY-[ABC]-|ck-test-/);
}

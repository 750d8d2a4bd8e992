import { clone, create } from "@bufbuild/protobuf";
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  ApplyConfigRequestSchema,
  ConfigService,
  GetConfigRequestSchema,
} from "@switchyard/proto/admin/v1/config_service";
import type { ApplyConfigResponse, GetConfigResponse } from "@switchyard/proto/admin/v1/config_service";
import { ConfigSchema } from "@switchyard/proto/config/v1/config";
import type { Config } from "@switchyard/proto/config/v1/config";
import { ListGroupsRequestSchema } from "@switchyard/proto/routing/v1/routing_service";
import { Code } from "@switchyard/rpc";
import { expect } from "vitest";
import { as, caught, expectInfo } from "../contract-case.ts";
import type { ContractCase, MethodContract } from "../contract-case.ts";
import { KEYS } from "../stage.ts";
import type { Clients } from "../transports.ts";

async function get({ admin }: Clients, key = KEYS.boss): Promise<GetConfigResponse> {
  return admin.getConfig(create(GetConfigRequestSchema), as(key));
}

async function apply(
  { admin }: Clients,
  init: MessageInitShape<typeof ApplyConfigRequestSchema>,
  key = KEYS.boss,
): Promise<ApplyConfigResponse> {
  return admin.applyConfig(create(ApplyConfigRequestSchema, init), as(key));
}

/** The config with other groups granted to the caller's key. */
function granting(config: Config, groups: string[]): Config {
  const changed = clone(ConfigSchema, config);
  const key = changed.keys.find(({ name }) => name === "caller");
  if (key !== undefined) key.groups = groups;
  return changed;
}

async function granted({ routing }: Clients): Promise<string[]> {
  const { groups } = await routing.listGroups(create(ListGroupsRequestSchema), as(KEYS.caller));
  return groups.map(({ name }) => name);
}

function needsAdmin(ask: (clients: Clients, config: Config, key: string) => Promise<unknown>): ContractCase {
  return {
    title: "needs the key of an account admin",
    run: async (clients, { config }) => {
      for (const [key, code, reason, status] of [
        ["", Code.Unauthenticated, "invalid_api_key", 401],
        ["nobody", Code.Unauthenticated, "invalid_api_key", 401],
        [KEYS.caller, Code.PermissionDenied, "model_not_allowed", 403],
      ] as const) {
        const error = await caught(() => ask(clients, config, key));
        expect(error.code).toBe(code);
        expectInfo(error, reason, status);
      }
    },
  };
}

export const getConfigContract: MethodContract = {
  method: ConfigService.method.getConfig,
  cases: [
    {
      title: "answers with the config in force, its revision and its hash",
      run: async (clients, stage) => {
        const { config, revision, hash } = await get(clients);
        expect(revision).toBe(1n);
        expect(hash).not.toBe("");
        expect(config).toEqual(stage.config);
        expect(JSON.stringify(config?.keys)).not.toContain(KEYS.caller);
      },
    },
    needsAdmin((clients, _config, key) => get(clients, key)),
  ],
};

export const applyConfigContract: MethodContract = {
  method: ConfigService.method.applyConfig,
  cases: [
    {
      title: "K5: replaces the config whole, says what changed, and is in force when it answers",
      run: async (clients, stage) => {
        const before = await get(clients);
        const less = granting(stage.config, ["chat"]);
        const applied = await apply(clients, { config: less, expectedRevision: before.revision });
        expect(applied.revision).toBe(before.revision + 1n);
        expect(applied.changes).toHaveLength(1);
        expect(applied.changes[0]).toMatch(/^keys\[.*groups.*->/);
        expect(await granted(clients)).toEqual(["chat"]);
        const after = await get(clients);
        expect([after.revision, after.hash === before.hash]).toEqual([applied.revision, false]);
        const back = await apply(clients, { config: stage.config });
        expect(back.revision).toBe(before.revision + 2n);
        expect(await granted(clients)).toEqual(["chat", "solo", "fragile"]);
        expect((await get(clients)).hash).toBe(before.hash);
      },
    },
    {
      title: "a dry run says what would change, and changes nothing",
      run: async (clients, { config }) => {
        const before = await get(clients);
        const answer = await apply(clients, { config: granting(config, ["chat"]), dryRun: true });
        expect([answer.revision, answer.changes.length]).toEqual([before.revision, 1]);
        expect(await get(clients)).toEqual(before);
      },
    },
    {
      title: "the same config is no change",
      run: async (clients, { config }) => {
        const { revision } = await get(clients);
        expect(await apply(clients, { config })).toMatchObject({ revision, changes: [] });
      },
    },
    {
      title: "another revision than the expected one is a conflict: applied, dry or without a change",
      run: async (clients, { config }) => {
        const before = await get(clients);
        const expectedRevision = before.revision + 5n;
        const less = granting(config, ["chat"]);
        for (const init of [{ config: less }, { config: less, dryRun: true }, { config }]) {
          const error = await caught(() => apply(clients, { ...init, expectedRevision }));
          expect([error.code, error.rawMessage]).toEqual([
            Code.Aborted,
            expect.stringContaining(`revision ${before.revision}`),
          ]);
          expectInfo(error, "invalid_request", 409);
        }
        expect(await get(clients)).toEqual(before);
      },
    },
    {
      title: "invariant 10: every fault is named by its path, and nothing is applied",
      run: async (clients, { config }) => {
        const before = await get(clients);
        const faulty = granting(config, ["chat", "nowhere"]);
        for (const group of faulty.groups) group.deployments[0]!.provider = "nobody";
        const error = await caught(() => apply(clients, { config: faulty }));
        expect(error.code).toBe(Code.InvalidArgument);
        for (const path of [
          "groups[0].deployments[0].provider",
          "groups[2].deployments[0].provider",
          "keys[0].groups[1]",
        ]) {
          expect(error.rawMessage).toContain(path);
        }
        expectInfo(error, "invalid_request", 400);
        expect(await get(clients)).toEqual(before);
      },
    },
    needsAdmin((clients, config, key) => apply(clients, { config }, key)),
    {
      title: "needs a config that keeps its schema's rules",
      on: "wire",
      run: async (clients, { config }) => {
        const none = await caught(() => apply(clients, {}));
        expect([none.code, none.rawMessage]).toEqual([
          Code.InvalidArgument,
          expect.stringContaining("config"),
        ]);
        expectInfo(none, "invalid_request", 400);
        const unspecified = clone(ConfigSchema, config);
        unspecified.providers[0]!.family = 0;
        const error = await caught(() => apply(clients, { config: unspecified }));
        expect([error.code, error.rawMessage]).toEqual([
          Code.InvalidArgument,
          expect.stringContaining("providers[0].family"),
        ]);
        expectInfo(error, "invalid_request", 400);
      },
    },
  ],
};

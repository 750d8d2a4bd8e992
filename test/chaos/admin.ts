import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  ApplyConfigRequestSchema,
  ConfigService,
  GetConfigRequestSchema,
} from "@switchyard/proto/admin/v1/config_service";
import {
  BenchRequestSchema,
  HealthStateService,
  ListBenchesRequestSchema,
  ScopeSchema,
  UnbenchRequestSchema,
} from "@switchyard/proto/health/v1/health_state_service";
import type { Scope } from "@switchyard/proto/health/v1/health_state_service";
import type { Config } from "@switchyard/proto/config/v1/config";
import { CallContext, createLeanClient } from "@switchyard/rpc";
import { readConfig, withRuntime } from "../support/gateway-config.ts";
import { ADMIN_KEY } from "./chat.ts";
import type { Member } from "./cluster.ts";

const WITHIN_MS = 5_000;

function call(): CallContext {
  return new CallContext({
    headers: { authorization: `Bearer ${ADMIN_KEY}` },
    deadline: Date.now() + WITHIN_MS,
  });
}

function deployment(id: string, group: string): Scope {
  return create(ScopeSchema, {
    target: { case: "deployment", value: { project: "", group, deployment: id } },
  });
}

/** Benches by hand, as an account admin. */
export async function bench({ rpc }: Member, id: string, ms: number, group = "g"): Promise<void> {
  using client = createLeanClient(HealthStateService, { urls: [rpc] });
  await client.bench(
    create(BenchRequestSchema, { scope: deployment(id, group), duration: durationFromMs(ms) }),
    call(),
  );
}

/** Whether something was benched. */
export async function unbench({ rpc }: Member, id: string, group = "g"): Promise<boolean> {
  using client = createLeanClient(HealthStateService, { urls: [rpc] });
  const { wasBenched } = await client.unbench(
    create(UnbenchRequestSchema, { scope: deployment(id, group) }),
    call(),
  );
  return wasBenched;
}

/** Scope keys of the benches in force, as this health service knows them. */
export async function benches({ rpc }: Member): Promise<readonly string[]> {
  using client = createLeanClient(HealthStateService, { urls: [rpc] });
  return (await client.listBenches(create(ListBenchesRequestSchema), call())).benches.map(({ key }) => key);
}

/** Replaces the stored config through a router's admin API; resolves to the revision. */
export function apply(router: Member, config: string | object): Promise<number> {
  return applyMessage(router, readConfig(withRuntime(config, {})));
}

/** The same with a config that nobody has checked. */
export async function applyMessage({ rpc }: Member, config: Config): Promise<number> {
  using client = createLeanClient(ConfigService, { urls: [rpc] });
  return Number((await client.applyConfig(create(ApplyConfigRequestSchema, { config }), call())).revision);
}

/** Names of the groups in force at this router. */
export async function groupsOf({ rpc }: Member): Promise<readonly string[]> {
  using client = createLeanClient(ConfigService, { urls: [rpc] });
  const { config } = await client.getConfig(create(GetConfigRequestSchema), call());
  return (config?.groups ?? []).map(({ name }) => name);
}

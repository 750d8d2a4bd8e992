import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { ApplyConfigRequestSchema, ConfigService } from "@switchyard/proto/admin/v1/config_service";
import { CallContext, createLeanClient } from "@switchyard/rpc";
import type { Config } from "@switchyard/proto/config/v1/config";

const APPLY_WITHIN_MS = 5_000;
const ADMIN_KEY = "ck-test-admin";

/** The key by which the harness applies configs; part of every config that it writes. */
export const ADMIN = {
  name: "harness-admin",
  secret: { sha256: createHash("sha256").update(ADMIN_KEY).digest("hex") },
  roles: ["account_admin"],
};

/** Replaces the stored config through a router's admin API; resolves to the revision in force. */
export async function applyConfig(
  routerUrl: string,
  { runtime: _ofOneProcess, ...config }: Config,
): Promise<number> {
  using client = createLeanClient(ConfigService, { urls: [routerUrl] });
  const call = new CallContext({
    headers: { authorization: `Bearer ${ADMIN_KEY}` },
    deadline: Date.now() + APPLY_WITHIN_MS,
  });
  const { revision } = await client.applyConfig(create(ApplyConfigRequestSchema, { config }), call);
  return Number(revision);
}

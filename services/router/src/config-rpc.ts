import { create } from "@bufbuild/protobuf";
import { ConfigConflictError, requireAdmin, withoutRuntime } from "@switchyard/cluster";
import type { ConfigFeed, WritableConfigFeed } from "@switchyard/cluster";
import { diffConfigs, formatFault, isUsable, validateConfig } from "@switchyard/config";
import type { ConfigSnapshot } from "@switchyard/core";
import {
  ApplyConfigResponseSchema,
  GetConfigResponseSchema,
} from "@switchyard/proto/admin/v1/config_service";
import type { ConfigService } from "@switchyard/proto/admin/v1/config_service";
import { ConfigSchema } from "@switchyard/proto/config/v1/config";
import { type ConnectError, failure } from "@switchyard/rpc";
import type { ServiceImpl } from "@switchyard/rpc";
import type { Logger } from "@switchyard/telemetry";

export interface ConfigRpcDeps {
  readonly feed: ConfigFeed;
  /** Absent where the config can't be written: on the embedded bus the file is the truth. */
  readonly writable: WritableConfigFeed | undefined;
  readonly current: () => ConfigSnapshot | undefined;
  readonly logger: Logger;
}

/** `ConfigService`: reads and replaces the stored config. */
export function createConfigRpc(deps: ConfigRpcDeps): ServiceImpl<typeof ConfigService> {
  return {
    getConfig: (_request, call) => {
      requireAdmin(deps.current(), call);
      const applied = deps.feed.current();
      return create(GetConfigResponseSchema, {
        config: applied?.config ?? create(ConfigSchema),
        revision: BigInt(applied?.revision ?? 0),
        hash: deps.current()?.hash ?? "",
      });
    },
    applyConfig: async (request, call) => {
      const by = requireAdmin(deps.current(), call);
      const next = request.config ?? create(ConfigSchema);
      const { faults, warnings } = validateConfig(next);
      if (faults.length > 0) {
        throw failure("invalid_request", faults.map(formatFault).join("\n"), { status: 400 });
      }
      // It would take the admin's own key too, and nobody could apply another.
      if (!isUsable(next)) throw failure("invalid_request", "the config names no groups", { status: 400 });
      const applied = deps.feed.current();
      const revision = BigInt(applied?.revision ?? 0);
      if (request.expectedRevision !== undefined && request.expectedRevision !== revision) {
        throw conflict(`revision ${revision} is in force, not ${request.expectedRevision}`);
      }
      const changes = diffConfigs(
        withoutRuntime(applied?.config ?? create(ConfigSchema)),
        withoutRuntime(next),
      );
      const answer = { revision, changes: [...changes], warnings: warnings.map(formatFault) };
      const mends = deps.writable?.refusesStored === true;
      if (request.dryRun || (changes.length === 0 && !mends))
        return create(ApplyConfigResponseSchema, answer);
      if (deps.writable === undefined) {
        throw failure("invalid_request", "this router's config is its file: edit it, it is watched", {
          status: 400,
        });
      }
      const expected = request.expectedRevision === undefined ? undefined : Number(request.expectedRevision);
      try {
        const written = await deps.writable.apply(next, by, expected);
        deps.logger.info("config applied", { revision: written.revision, by, changes: changes.length });
        return create(ApplyConfigResponseSchema, { ...answer, revision: BigInt(written.revision) });
      } catch (error) {
        if (error instanceof ConfigConflictError) throw conflict(error.message, error);
        if (error instanceof RangeError) {
          throw failure("invalid_request", error.message, { status: 400, cause: error });
        }
        throw failure("upstream_unavailable", "the config store can't be reached", {
          status: 503,
          cause: error,
        });
      }
    },
  };
}

function conflict(message: string, cause?: unknown): ConnectError {
  return failure("invalid_request", message, { status: 409, cause });
}

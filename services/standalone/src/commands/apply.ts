import { create } from "@bufbuild/protobuf";
import { ApplyConfigRequestSchema, ConfigService } from "@switchyard/proto/admin/v1/config_service";
import type { ApplyConfigResponse } from "@switchyard/proto/admin/v1/config_service";
import { ConfigSchema } from "@switchyard/proto/config/v1/config";
import { CallContext, Code, createLeanClient, readFailure } from "@switchyard/rpc";
import type { LeanClient } from "@switchyard/rpc";
import type { ApplyCommand } from "../args/command.ts";
import { CommandError, EXIT } from "../exit.ts";
import { readConfig } from "./read-config.ts";

const KEY_VARIABLE = "SWITCHYARD_ADMIN_KEY";
const WITHIN_MS = 15_000;
/** All that is known of an answer by something else. */
const NOT_RPC = /^HTTP \d+$/;

/** Writes a config to a running cluster through a router's admin API, and prints what changed. */
export async function apply({ file, url, dryRun }: ApplyCommand): Promise<number> {
  const { config, warnings } = await readConfig(file);
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
  const key = process.env[KEY_VARIABLE]?.trim();
  if (!key) throw new CommandError(`${KEY_VARIABLE} is not set: it must hold the key of an account admin`);
  const urls = url === undefined ? (config.runtime?.router?.urls ?? []) : [url];
  if (urls.length === 0)
    throw new CommandError(`no router to apply to: pass --url, or name runtime.router.urls`);

  using client = connect(urls);
  // `runtime` belongs to one process and is not stored.
  const { runtime: _ofOneProcess, ...shared } = config;
  const request = create(ApplyConfigRequestSchema, { config: create(ConfigSchema, shared), dryRun });
  const call = new CallContext({
    headers: { authorization: `Bearer ${key}` },
    deadline: Date.now() + WITHIN_MS,
  });
  let response: ApplyConfigResponse;
  try {
    response = await client.applyConfig(request, call);
  } catch (error) {
    throw refused(error, urls);
  }
  for (const change of response.changes) process.stdout.write(`${change}\n`);
  process.stdout.write(`${summary(response, dryRun)}\n`);
  return EXIT.ok;
}

function connect(urls: readonly string[]): LeanClient<typeof ConfigService> {
  try {
    return createLeanClient(ConfigService, { urls });
  } catch (error) {
    const why = error instanceof Error ? error.message : "unusable";
    throw new CommandError(`no router to apply to: ${why} (http://HOST:PORT is wanted)`, { cause: error });
  }
}

function summary({ revision, changes }: ApplyConfigResponse, dryRun: boolean): string {
  if (changes.length === 0) return `nothing changed; revision ${revision} is in force`;
  return dryRun
    ? `nothing was applied (--dry-run); revision ${revision} is in force`
    : `applied: revision ${revision} is in force`;
}

function refused(error: unknown, urls: readonly string[]): CommandError {
  const { message, connectCode } = readFailure(error);
  const unreachable = connectCode === Code.Unavailable || connectCode === Code.DeadlineExceeded;
  if (unreachable) return new CommandError(`${urls.join(", ")}: ${message}`, { cause: error });
  if (NOT_RPC.test(message)) {
    const why = `${urls.join(", ")} is no router's listen.rpc (${message})`;
    return new CommandError(`no router to apply to: ${why}`, { cause: error });
  }
  const lines = message.split("\n");
  const [first = ""] = lines;
  return lines.length === 1
    ? new CommandError(`refused: ${first}`, { cause: error })
    : new CommandError(`refused: ${lines.length} faults`, { lines, cause: error });
}

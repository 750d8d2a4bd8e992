import { clone } from "@bufbuild/protobuf";
import { compileSnapshot, configHash, processSecrets, sha256Hex } from "@switchyard/config";
import { callerLookup, LineFault, Observed, parseLine, Replay, verifyDecision } from "@switchyard/core";
import type { ConfigSnapshot, LogLine, ReplayChanges } from "@switchyard/core";
import { ConfigSchema } from "@switchyard/proto/config/v1/config";
import type { Config } from "@switchyard/proto/config/v1/config";
import type { ReplayCommand, ReplayLimits } from "../args/command.ts";
import { CommandError, EXIT } from "../exit.ts";
import { readConfig } from "./read-config.ts";
import { readLines, sizeOf } from "./read-lines.ts";
import { changesText, percent, replayText } from "./replay-text.ts";

/** So many differences are told one by one. */
const MOST_TOLD = 20;

/** Replays a decision log under a config, and tells how traffic, price and failures would move. */
export async function replay(command: ReplayCommand): Promise<number> {
  const { config, warnings } = await readConfig(command.config);
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
  const snapshot = candidateOf(config);
  const size = await sizeOf(command.log);
  return command.verify ? verify(command, snapshot, size) : rerun(command, snapshot, size);
}

async function rerun(
  { log, json, limits }: ReplayCommand,
  config: ConfigSnapshot,
  size: number,
): Promise<number> {
  const observed = new Observed();
  for await (const { line } of linesOf(log, size, true)) observed.add(line);
  const run = new Replay(config, observed);
  for await (const { line } of linesOf(log, size, false)) run.add(line);
  const report = run.finish();
  if (report.log.requests === 0) throw new CommandError(`${log} holds no request that begins in it`);
  const exceeded = exceededBy(report.changes, limits);
  process.stdout.write(json ? `${JSON.stringify({ ...report, exceeded }, null, 2)}\n` : replayText(report));
  if (exceeded.length === 0) return EXIT.ok;
  throw new CommandError("past the given limits", { lines: exceeded });
}

/** Invariant 1: makes every decision again on the config that it was made on. */
async function verify(
  { log, json, config: path }: ReplayCommand,
  config: ConfigSnapshot,
  size: number,
): Promise<number> {
  const callers = callerLookup(config);
  const differences: { line: number; recorded: string; now: string }[] = [];
  const others = new Map<string, number>();
  const count = { same: 0, differs: 0, other_config: 0 };
  for await (const { line, number } of linesOf(log, size, true)) {
    if (line.kind !== "decision") continue;
    const verified = verifyDecision(line, config, callers);
    count[verified.kind] += 1;
    if (verified.kind === "other_config") {
      const { hash } = line.config;
      if (others.has(hash) || others.size < MOST_TOLD) others.set(hash, (others.get(hash) ?? 0) + 1);
    } else if (verified.kind === "differs" && differences.length < MOST_TOLD) {
      differences.push({ line: number, recorded: verified.recorded, now: verified.now });
    }
  }
  const { same, differs, other_config: other } = count;
  process.stdout.write(
    json
      ? `${JSON.stringify({ config: config.hash, same, differs, other_config: other, differences }, null, 2)}\n`
      : `${same} of ${same + differs + other} decisions come out the same, bit for bit\n`,
  );
  const lines = [
    ...differences.map(({ line, recorded, now }) => `${log}:${line}: was ${recorded}; is ${now}`),
    ...[...others].map(([hash, made]) => `${made} were made on config ${hash}; ${path} is ${config.hash}`),
  ];
  if (lines.length > 0) throw new CommandError(`${differs + other} decisions are not confirmed`, { lines });
  if (same === 0) throw new CommandError(`${log} holds no decision`);
  return EXIT.ok;
}

async function* linesOf(
  path: string,
  size: number,
  warn: boolean,
): AsyncGenerator<{ readonly line: LogLine; readonly number: number }> {
  for await (const { number, text, torn } of readLines(path, size)) {
    let line: LogLine;
    try {
      line = parseLine(text);
    } catch (error) {
      if (!(error instanceof LineFault)) throw error;
      if (!torn) throw new CommandError(`${path}:${number}: ${error.message}`, { cause: error });
      if (warn) process.stderr.write(`warning: ${path}:${number}: the last line is not whole; left out\n`);
      return;
    }
    yield { line, number };
  }
}

/** The snapshot of a config in which every key is there, whether or not this process can read its secret: logs name keys. */
function candidateOf(config: Config): ConfigSnapshot {
  const named = clone(ConfigSchema, config);
  for (const [index, { secret }] of named.keys.entries()) {
    if (secret !== undefined) secret.source = { case: "sha256", value: sha256Hex(String(index)) };
  }
  return { ...compileSnapshot(named, { revision: 1, secrets: processSecrets }), hash: configHash(config) };
}

function exceededBy({ share, cost, failureRate }: ReplayChanges, limits: ReplayLimits): string[] {
  const exceeded: string[] = [];
  const { shareChange, costChange, failureRate: mostFailing } = limits;
  if (shareChange !== undefined && share > shareChange) {
    exceeded.push(`a share moves by ${percent(share)} points, at most ${shareChange} may be`);
  }
  if (costChange !== undefined && (cost === null || Math.abs(cost) > costChange)) {
    exceeded.push(`the price moves by ${changesText(cost)}, at most ${costChange} % may be`);
  }
  if (mostFailing !== undefined && failureRate > mostFailing) {
    exceeded.push(`${percent(failureRate)} % of the requests get no answer, at most ${mostFailing} % may`);
  }
  return exceeded;
}

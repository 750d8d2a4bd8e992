import { GROUPS_LOAD, type Options, type VariantName } from "../options.ts";
import { startDirect } from "../variants/direct.ts";
import { startNginx } from "../variants/nginx.ts";
import { startPortkey } from "../variants/portkey.ts";
import { startFourProcesses, startOneProcess } from "../variants/switchyard.ts";
import type { StartVariant } from "../variants/variant.ts";
import { type Load, loadNamed, LOADS } from "../wire/loads.ts";
import type { CellName } from "./rows.ts";

/** Something that is started once and serves one or more cells. */
export interface Server {
  readonly name: string;
  readonly start: StartVariant;
}

/** A cell, the load behind its name, and the server it runs against. */
export interface PlannedCell extends CellName {
  readonly traffic: Load;
  readonly server: string;
}

export interface Plan {
  readonly servers: readonly Server[];
  /** In the order of one round; the cells of one set differ only in their variant. */
  readonly sets: readonly (readonly PlannedCell[])[];
}

const CONNECTIONS = [1, 32];
/** Each in a process of its own: one that had served other loads before would run warmer code than the other. */
const GROUP_COUNTS = [1, 1_000];

const starts: Readonly<Record<VariantName, StartVariant>> = {
  direct: startDirect,
  "one-process": startOneProcess(1),
  "four-processes": startFourProcesses,
  nginx: startNginx,
  portkey: startPortkey,
};

/** What to start and measure for these options. */
export function makePlan(options: Options): Plan {
  const loads = LOADS.filter((load) => options.load === undefined || options.load === load.name);
  const sets: PlannedCell[][] = loads.flatMap((traffic) =>
    CONNECTIONS.map((connections) =>
      options.variants.map((variant) => ({
        variant,
        load: traffic.name,
        connections,
        traffic,
        server: variant,
      })),
    ),
  );
  const groups =
    (options.load ?? GROUPS_LOAD) === GROUPS_LOAD && options.variants.includes("one-process")
      ? groupsSet()
      : [];
  if (groups.length > 0) sets.push(groups);
  const needed = new Set(sets.flat().map((cell) => cell.server));
  const servers = options.variants.map((name) => ({ name, start: starts[name] }));
  const all: Server[] = [
    ...servers,
    ...GROUP_COUNTS.map((count) => ({ name: groupsName(count), start: startOneProcess(count) })),
  ];
  return { servers: all.filter(({ name }) => needed.has(name)), sets };
}

function groupsName(count: number): string {
  return `groups-${count}`;
}

function groupsSet(): PlannedCell[] {
  const traffic = loadNamed("chat-1k");
  return GROUP_COUNTS.map((count) => ({
    variant: "one-process",
    load: groupsName(count),
    connections: 32,
    traffic,
    server: groupsName(count),
  }));
}

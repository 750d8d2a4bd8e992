import { posix } from "node:path";
import type { SourceFile } from "./source-file.ts";

/** A workspace package: where it is and what it declares. */
export interface Manifest {
  /** `packages/core`, `services/router` … */
  readonly folder: string;
  readonly name: string;
  readonly dependencies: readonly string[];
}

const scope = "@switchyard/";
const serviceNames = ["router", "forwarder", "health", "facade"];
const packagesForServices = [
  "core",
  "providers",
  "proto",
  "config",
  "cluster",
  "rpc",
  "upstream",
  "bus",
  "telemetry",
];

/** Who may know whom; a package that is not listed may know nobody. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  "packages/providers": ["core"],
  "packages/config": ["core", "proto", "providers"],
  "packages/cluster": ["core", "proto", "config", "bus", "rpc"],
  "packages/rpc": ["core", "proto", "http1"],
  "packages/upstream": ["core", "proto", "http1"],
  "packages/bus": ["core", "proto"],
  "packages/telemetry": ["core", "proto"],
  "packages/testkit": ["core", "proto"],
  "services/standalone": [...packagesForServices, ...serviceNames],
  ...Object.fromEntries(serviceNames.map((name) => [`services/${name}`, packagesForServices])),
  "services/facade": [...packagesForServices, "http1"],
};

/** Where each outside library is at home. The protobuf runtime comes with every generated message. */
const libraryHomes: Readonly<Record<string, readonly string[]>> = {
  "@aws-sdk/credential-provider-node": ["packages/upstream"],
  "@bufbuild/protobuf": [
    "packages/proto",
    "packages/config",
    "packages/cluster",
    "packages/rpc",
    "packages/bus",
    "services/*",
  ],
  "@bufbuild/protovalidate": ["packages/proto", "packages/config", "packages/rpc"],
  "@connectrpc/connect": ["packages/rpc"],
  "@connectrpc/connect-node": ["packages/rpc"],
  "@connectrpc/validate": ["packages/rpc"],
  "@nats-io/jetstream": ["packages/bus"],
  "@nats-io/kv": ["packages/bus"],
  "@smithy/signature-v4": ["packages/upstream"],
  "google-auth-library": ["packages/upstream"],
  nats: ["packages/bus"],
  "@opentelemetry/api": ["packages/telemetry"],
  "@opentelemetry/core": ["packages/telemetry"],
  "@opentelemetry/exporter-trace-otlp-http": ["packages/telemetry"],
  "@opentelemetry/exporter-trace-otlp-proto": ["packages/telemetry"],
  "@opentelemetry/resources": ["packages/telemetry"],
  "@opentelemetry/sdk-trace": ["packages/telemetry"],
  pino: ["packages/telemetry"],
  "prom-client": ["packages/telemetry"],
  yaml: ["packages/config"],
};

const purePackages = ["packages/core", "packages/providers"];
const impureNames = [
  "Date",
  "performance",
  "Math.random",
  "crypto",
  "process",
  "Buffer",
  "fetch",
  "console",
  "setTimeout",
  "setInterval",
  "setImmediate",
  "queueMicrotask",
];

/** The folders of core that put the others together (`replay` makes decisions again), and what every one of them may use. */
const coreComposers = ["decide", "replay"];
const coreBase = "domain";

/** Folders of providers, the lowest first: each may use those before it. */
const providersFloors = [
  "json",
  "errors",
  "sse",
  "event-stream",
  "neutral",
  "request",
  "origin",
  "translate",
  "families",
  "dialects",
  "exchange",
];

const maxCodeLines = 400;

/** `packages/core` of `packages/core/src/domain/ids.ts`. */
function ownerOf(path: string): string {
  return path.split("/").slice(0, 2).join("/");
}

function isSource(file: SourceFile): boolean {
  return /^(packages|services)\/[^/]+\/src\//.test(file.path);
}

function libraryOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

function isAllowed(owner: string, library: string): boolean {
  if (library.startsWith(scope)) return (mayImport[owner] ?? []).includes(library.slice(scope.length));
  const homes = libraryHomes[library] ?? [];
  return homes.includes(owner) || homes.includes(`${owner.split("/")[0]}/*`);
}

/** Faults of a package.json: a dependency that its layer must not have. */
export function manifestFaults(manifest: Manifest): readonly string[] {
  return manifest.dependencies
    .filter((name) => !isAllowed(manifest.folder, name))
    .map((name) => `${manifest.folder}/package.json: must not depend on ${name}`);
}

/** Faults of one file: forbidden imports and names, too many lines. */
export function fileFaults(file: SourceFile): readonly string[] {
  const faults: string[] = [];
  if (file.codeLines > maxCodeLines)
    faults.push(`${file.codeLines} lines of code, ${maxCodeLines} is the most`);
  if (isSource(file)) {
    for (const specifier of file.imports) {
      const fault = specifier.startsWith(".")
        ? relativeFault(file.path, specifier)
        : packageFault(file.path, specifier);
      if (fault !== undefined) faults.push(fault);
    }
    if (purePackages.includes(ownerOf(file.path))) {
      for (const name of impureNames)
        if (file.names.has(name)) faults.push(`uses ${name}, but the package is pure`);
    }
  }
  return faults.map((fault) => `${file.path}: ${fault}`);
}

function packageFault(path: string, specifier: string): string | undefined {
  const owner = ownerOf(path);
  if (specifier.startsWith("node:")) {
    return purePackages.includes(owner) ? `imports ${specifier}, but the package is pure` : undefined;
  }
  return isAllowed(owner, libraryOf(specifier)) ? undefined : `must not import ${specifier}`;
}

function relativeFault(path: string, specifier: string): string | undefined {
  const target = posix.join(posix.dirname(path), specifier);
  const owner = ownerOf(path);
  if (!target.startsWith(`${owner}/src/`)) return `leaves its package with ${specifier}`;
  const [from, to] = [folderOf(path), folderOf(target)];
  if (from === undefined || from === to || mayUseFolder(owner, from, to)) return undefined;
  const name = posix.basename(owner);
  return `${name}/${from} must not import ${name}/${to ?? posix.basename(target)}`;
}

/** Whether a package lets a folder of its own use another, or (`to` absent) a file of its root. */
function mayUseFolder(owner: string, from: string, to: string | undefined): boolean {
  if (owner === "packages/core") return coreComposers.includes(from) || to === coreBase;
  if (owner !== "packages/providers") return true;
  return to !== undefined && floorOf(to) >= 0 && floorOf(to) < floorOf(from);
}

function floorOf(folder: string): number {
  return providersFloors.indexOf(folder);
}

/** `domain` of `packages/core/src/domain/ids.ts`; undefined for a file that lies in src itself. */
function folderOf(path: string): string | undefined {
  const parts = path.split("/");
  return parts.length > 4 ? parts[3] : undefined;
}

import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { fileFaults, type Manifest, manifestFaults } from "./rules.ts";
import { readSourceFile, type SourceFile } from "./source-file.ts";

const root = join(import.meta.dirname, "../..");
const generated = "packages/proto/src/gen/";

function find(pattern: string): readonly string[] {
  const inNodeModules = (name: string): boolean => name === "node_modules" || name === "dist";
  return globSync(pattern, { cwd: root, exclude: (path) => path.split("/").some(inNodeModules) }).toSorted();
}

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

function readManifest(path: string): Manifest {
  const { name, dependencies = {} } = JSON.parse(read(path)) as {
    name: string;
    dependencies?: Record<string, string>;
  };
  return { folder: dirname(path), name, dependencies: Object.keys(dependencies) };
}

function readSourceFiles(): readonly SourceFile[] {
  return find("{packages,services,scripts,test}/**/*.ts")
    .filter((path) => !path.startsWith(generated))
    .map((path) => readSourceFile(path, read(path)));
}

describe("layers", () => {
  const manifests = find("{packages,services}/*/package.json").map(readManifest);

  it("every package is there and named after its folder", () => {
    expect(manifests.map((manifest) => manifest.name)).toEqual(
      manifests.map((manifest) => `@switchyard/${manifest.folder.split("/")[1] ?? ""}`),
    );
    expect(manifests.length).toBeGreaterThanOrEqual(14);
  });

  it("packages depend only on layers below them, and outside libraries stay at home", () => {
    expect(manifests.flatMap(manifestFaults)).toEqual([]);
  });

  it("sources import only what their layer may know, pure packages stay pure, files stay small", () => {
    const files = readSourceFiles();
    expect(files.length).toBeGreaterThan(0);
    expect(files.flatMap(fileFaults)).toEqual([]);
  });
});

describe("the checker finds planted faults", () => {
  const faultsOf = (path: string, text: string): readonly string[] => fileFaults(readSourceFile(path, text));
  const core = "packages/core/src";

  it.each([
    [
      `${core}/domain/a.ts`,
      'import { x } from "../decide/decide.ts";',
      "core/domain must not import core/decide",
    ],
    [
      `${core}/limits/a.ts`,
      'export * from "../health/reduce.ts";',
      "core/limits must not import core/health",
    ],
    [`${core}/limits/a.ts`, 'import { x } from "../index.ts";', "core/limits must not import core/index.ts"],
    [
      `${core}/decide/a.ts`,
      'import type { X } from "@switchyard/proto/config/v1/config";',
      "must not import",
    ],
    [
      "packages/providers/src/origin/a.ts",
      'import { x } from "../dialects/usage.ts";',
      "providers/origin must not import providers/dialects",
    ],
    [
      "packages/providers/src/dialects/gemini/a.ts",
      'import { x } from "../../elsewhere/a.ts";',
      "providers/dialects must not import providers/elsewhere",
    ],
    [`${core}/decide/a.ts`, 'import { readFileSync } from "node:fs";', "imports node:fs"],
    [`${core}/decide/a.ts`, "export const at = Date.now();", "uses Date"],
    [`${core}/decide/a.ts`, "export const pick = Math.random();", "uses Math.random"],
    [`${core}/decide/a.ts`, "(globalThis as unknown as G).Date.now();", "uses Date"],
    ["packages/providers/src/a.ts", "setTimeout(() => {}, 1); Buffer.from(process.argv[0]);", "uses process"],
    [
      "packages/providers/src/a.ts",
      'const x = await import("@switchyard/rpc");',
      "must not import @switchyard/rpc",
    ],
    ["packages/rpc/src/a.ts", 'import { connect } from "nats";', "must not import nats"],
    ["packages/bus/src/a.ts", 'import { x } from "../../core/src/index.ts";', "leaves its package"],
    ["packages/bus/src/a.ts", 'type T = import("undici").Dispatcher;', "must not import undici"],
    [
      "services/router/src/a.ts",
      'import { x } from "@switchyard/forwarder";',
      "must not import @switchyard/forwarder",
    ],
    [
      "services/router/src/a.ts",
      'import { x } from "@switchyard/testkit";',
      "must not import @switchyard/testkit",
    ],
    ["scripts/a.ts", "a;\n".repeat(401), "401 lines of code"],
  ])("%s: fault %#", (path, text, fault) => {
    expect(faultsOf(path, text).join("\n")).toContain(fault);
  });

  it.each([
    [`${core}/decide/a.ts`, 'import { x } from "../limits/window.ts"; import { y } from "../domain/ids.ts";'],
    [
      `${core}/domain/a.ts`,
      '// Date.now() and process are words here\nexport const at = clock.Date; const s = "Date";',
    ],
    [
      "packages/rpc/src/a.ts",
      'import { x } from "@switchyard/proto/config/v1/config"; setTimeout(() => {}, Date.now());',
    ],
    ["packages/bus/test/a.ts", 'import { x } from "../../../test/support/nats-server.ts";'],
    ["services/standalone/src/a.ts", 'import { x } from "@switchyard/router"; import "node:http";'],
    ["test/a.ts", `${"a;\n".repeat(400)}${"// why\n\n/** a\n * b\n */\n".repeat(50)}`],
  ])("%s: lets pass %#", (path, text) => {
    expect(faultsOf(path, text)).toEqual([]);
  });

  it("finds a dependency that a manifest must not have", () => {
    const manifest = {
      folder: "packages/core",
      name: "@switchyard/core",
      dependencies: ["undici", "@switchyard/proto"],
    };
    expect(manifestFaults(manifest)).toHaveLength(2);
  });
});

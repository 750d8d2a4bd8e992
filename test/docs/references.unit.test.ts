import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Metrics } from "@switchyard/telemetry";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const HTTP = readFileSync(join(ROOT, "docs/http.md"), "utf8");
const OPERATIONS = readFileSync(join(ROOT, "docs/operations.md"), "utf8");

/** What a pattern's first group finds in sources, each once. */
function found(files: string, pattern: RegExp): string[] {
  const texts = globSync(files, { cwd: ROOT, exclude: ["**/gen/**"] }).map((file) =>
    readFileSync(join(ROOT, file), "utf8"),
  );
  const all = texts.flatMap((text) => [...text.matchAll(pattern)].map(([, name = ""]) => name));
  expect(all.length).toBeGreaterThan(0);
  return [...new Set(all)];
}

/** Those that stand nowhere in a page as `code`. */
function missing(page: string, names: readonly string[]): string[] {
  return names.filter((name) => !page.includes(`\`${name}\``));
}

const SOURCES = "{packages,services}/*/src/**/*.ts";

describe("docs/http.md", () => {
  it("lists the paths that are served", () => {
    expect(missing(HTTP, found("services/facade/src/routes.ts", /\["(\/v1\/[^"]+)"/g))).toEqual([]);
  });

  it("lists the headers that are added", () => {
    const added = found(SOURCES, /push\(\s*"((?:x-|retry-)[a-z-]+)"/g);
    expect(added).toContain("x-ants-attempts");
    // Where a header has one value alone, that stands with it.
    expect(missing(HTTP, added).filter((name) => !HTTP.includes(`\`${name}: `))).toEqual([]);
  });

  it("lists the codes of refusals", () => {
    const routing = found("packages/core/src/domain/decision.ts", /^ {2}\| "([a-z_]+)"/gm);
    const own = found(SOURCES, /\b(?:refusal\(\s*\d+,|refuse\(\s*\d+,|failure\()\s*"([a-z_]+)"/g);
    // Never told to a caller, and not in force.
    const untold = new Set(["not_hedged", "budget_exceeded"]);
    const codes = [...new Set([...routing, ...own])].filter((code) => !untold.has(code));
    expect(missing(HTTP, codes)).toEqual([]);
  });
});

describe("docs/operations.md", () => {
  it("lists the metrics", async () => {
    const { body } = await new Metrics().render();
    const names = [...body.matchAll(/^# HELP (\S+)/gm)].map(([, name]) => name);
    const rows = [...OPERATIONS.matchAll(/^\| `(switchyard_\w+)` \|/gm)].map(([, name]) => name);
    expect(rows).toEqual(names);
  });

  it("lists the fields of a request's log line", () => {
    const record = readFileSync(join(ROOT, "services/forwarder/src/report/request-record.ts"), "utf8");
    const [, line = ""] = /logger\.info\("request", \{(.*?)\n {2}\}\);/s.exec(record) ?? [];
    const fields = [...line.matchAll(/^ {4}(\w+)[:,]|\{ (\w+)(?::[^}]+)? \}/gm)].map(
      ([, name, spread]) => name ?? spread ?? "",
    );
    expect(fields).toContain("affinity_rejected");
    expect(missing(OPERATIONS, fields)).toEqual([]);
  });

  it("lists the attributes of spans that are of no convention", () => {
    const names = found(
      "packages/telemetry/src/tracing/attributes.ts",
      /"((?:switchyard|gateway)\.[a-z._]+)"/g,
    );
    expect(missing(OPERATIONS, names)).toEqual([]);
  });

  it("lists the environment variables of ours", () => {
    expect(missing(OPERATIONS, found(SOURCES, /"(SWITCHYARD_[A-Z_]+)"/g))).toEqual([]);
  });
});

describe("pages", () => {
  const pages = globSync("{*,docs/**/*,packages/**/*,services/**/*,test/**/*}.md", {
    cwd: ROOT,
    exclude: ["**/node_modules/**"],
  });
  const files = globSync("{packages,services,test,scripts,proto,docs}/**/*.{ts,mjs,md,proto,yaml,json}", {
    cwd: ROOT,
    exclude: ["**/node_modules/**"],
  }).map((file) => `/${file}`);

  it.each(pages)("%s names source files and pages that are there", (page) => {
    const text = readFileSync(join(ROOT, page), "utf8");
    const named = [...text.matchAll(/`([\w./-]+\.(?:ts|md))`/g)].map(([, name = ""]) => name);
    expect(named.filter((name) => !files.some((file) => file.endsWith(`/${name}`)))).toEqual([]);
    const linked = [...text.matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)].map(([, link = ""]) => link);
    const gone = linked.filter((link) => globSync(join(ROOT, page, "..", link)).length === 0);
    expect(gone).toEqual([]);
  });
});

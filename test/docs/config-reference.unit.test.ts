import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { configReference } from "../../scripts/config-reference/reference.ts";
import { configJsonSchema } from "../../scripts/config-reference/schema.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

describe("pnpm gen:docs writes what the protos and the presets say", () => {
  it("docs/config.md", () => expect(read("docs/config.md")).toBe(configReference(ROOT)));
  it("docs/config.schema.json", () => expect(read("docs/config.schema.json")).toBe(configJsonSchema(ROOT)));
});

interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly definitions: Readonly<Record<string, Schema>>;
}

describe("docs/config.schema.json", () => {
  const schema = JSON.parse(read("docs/config.schema.json")) as Schema;

  /** Fields and values of a config that the schema does not have. */
  function unknown(value: unknown, at: Schema, path: string): string[] {
    const to = at.allOf?.[0]?.$ref ?? at.$ref;
    if (to !== undefined) return unknown(value, schema.definitions[to.slice(14)] as Schema, path);
    if (at.enum !== undefined) return at.enum.includes(value) ? [] : [path];
    if (Array.isArray(value)) return value.flatMap((each) => unknown(each, at.items as Schema, `${path}[]`));
    if (at.properties === undefined || typeof value !== "object" || value === null) return [];
    return Object.entries(value).flatMap(([name, each]) => {
      const known = at.properties?.[name];
      return known === undefined ? [`${path}.${name}`] : unknown(each, known, `${path}.${name}`);
    });
  }

  it("knows every field and value of the example, and marks others", () => {
    const text = read("packages/config/test/fixtures/example.yaml");
    expect(unknown(parse(text, { version: "1.2" }), schema, "")).toEqual([]);
    const wrong = { groups: [{ wieght: 1, policy: { strategy: "best" } }] };
    expect(unknown(wrong, schema, "")).toEqual([".groups[].wieght", ".groups[].policy.strategy"]);
  });
});

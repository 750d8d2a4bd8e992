import {
  isJsonList,
  isJsonObject,
  type Json,
  type JsonObject,
  objectOf,
  printJson,
} from "../../json/lossless.ts";

/** Says nothing about a value. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  "$schema",
  "$comment",
  "$vocabulary",
  "discriminator",
  "strict",
  "examples",
]);

/** Keywords of JSON schema that Google refuses or does not heed, told to the model in words instead. */
const TOLD: ReadonlySet<string> = new Set([
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "uniqueItems",
  "contains",
  "minContains",
  "maxContains",
  "patternProperties",
  "propertyNames",
  "dependentRequired",
  "dependentSchemas",
  "dependencies",
  "unevaluatedProperties",
  "unevaluatedItems",
  "not",
  "if",
  "then",
  "else",
]);

/** Members whose own members are names, not keywords. */
const NAMED: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"]);
/** Members that hold values, not schemas. */
const VALUES: ReadonlySet<string> = new Set(["enum", "default", "const", "required", "type"]);

/** The schema in the part of JSON schema that Google takes (`parametersJsonSchema`, `responseJsonSchema`); what it has no keyword for goes into descriptions. */
export function writeSchema(schema: JsonObject): JsonObject {
  const merged = mergeAllOf(schema);
  const written: Record<string, Json | undefined> = {};
  const told: string[] = [];
  for (const [key, value] of Object.entries(merged)) {
    if (value === undefined || LEFT_OUT.has(key) || key.startsWith("x-")) continue;
    if (TOLD.has(key)) told.push(`${key}: ${printJson(value)}`);
    else if (key === "const") define(written, "enum", [value]);
    else define(written, key, writeMember(key, value));
  }
  if (told.length > 0) {
    const { description } = written;
    const before = typeof description === "string" && description !== "" ? `${description} ` : "";
    written["description"] = `${before}(${told.join(", ")})`;
  }
  return written;
}

function writeMember(key: string, value: Json): Json {
  if (VALUES.has(key)) return value;
  if (NAMED.has(key) && isJsonObject(value)) {
    const members: Record<string, Json | undefined> = {};
    for (const [name, member] of Object.entries(value)) {
      if (member !== undefined) define(members, name, writeValue(member));
    }
    return members;
  }
  return writeValue(value);
}

function writeValue(value: Json): Json {
  if (isJsonList(value)) return value.map(writeValue);
  return isJsonObject(value) ? writeSchema(value) : value;
}

/** What all of several schemas ask for, in one: Google knows no `allOf`. */
function mergeAllOf(schema: JsonObject): JsonObject {
  const parts = schema["allOf"];
  if (!isJsonList(parts) || !parts.every(isJsonObject)) return schema;
  const { allOf: _merged, ...own } = schema;
  return parts.map(mergeAllOf).reduce<JsonObject>((left, right) => {
    const required = [...listOf(left["required"]), ...listOf(right["required"])];
    const properties = { ...objectOf(right["properties"]), ...objectOf(left["properties"]) };
    return {
      ...right,
      ...left,
      ...(required.length > 0 ? { required } : {}),
      ...(Object.keys(properties).length > 0 ? { properties } : {}),
    };
  }, own);
}

/** A name such as `__proto__` is a name like others. */
function define(object: Record<string, Json | undefined>, key: string, value: Json): void {
  Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
}

function listOf(value: Json | undefined): readonly Json[] {
  return isJsonList(value) ? value : [];
}

import type { DescEnum, DescField, DescMessage, JsonObject } from "@bufbuild/protobuf";
import { getOption, ScalarType } from "@bufbuild/protobuf";
import { DurationSchema, StructSchema } from "@bufbuild/protobuf/wkt";
import {
  field as fieldRules,
  oneof as oneofRules,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import type { FieldRules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { choices, wrappedList } from "@switchyard/config";
import { ConfigSchema } from "@switchyard/proto/config/v1/config";
import { type Comments, readComments } from "./comments.ts";
import { isRequired } from "./kinds.ts";

/** `docs/config.schema.json`: what editors complete and mark in a config, as JSON Schema. `validate` knows more. */
export function configJsonSchema(root: string): string {
  const comments = readComments(root);
  const definitions: JsonObject = {};
  const define = (desc: DescMessage | DescEnum): JsonObject => {
    if (definitions[desc.name] === undefined) {
      definitions[desc.name] = {};
      definitions[desc.name] =
        desc.kind === "enum"
          ? { description: comments.get(desc.name) ?? "", enum: choices(desc) }
          : objectOf(desc, comments, define);
    }
    return { $ref: `#/definitions/${desc.name}` };
  };
  const top = objectOf(ConfigSchema, comments, define);
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Switchyard",
    ...top,
    // A JSON file names this schema so.
    properties: { $schema: { type: "string" }, ...top.properties },
    definitions,
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

type ObjectSchema = JsonObject & { readonly properties: JsonObject };
type Define = (desc: DescMessage | DescEnum) => JsonObject;

function objectOf(desc: DescMessage, comments: Comments, define: Define): ObjectSchema {
  const properties = desc.fields.map((field): [string, JsonObject] => {
    const value = valueOf(field, define);
    const description = comments.get(`${desc.name}.${field.name}`) ?? "";
    // Draft 7 heeds nothing beside a `$ref`.
    return [field.name, "$ref" in value ? { description, allOf: [value] } : { description, ...value }];
  });
  const required = desc.fields.filter(isRequired).map(({ name }) => name);
  const oneof = desc.oneofs.find((each) => getOption(each, oneofRules).required);
  return {
    description: comments.get(desc.name) ?? "",
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
    ...(oneof === undefined ? {} : { oneOf: oneof.fields.map(({ name }) => ({ required: [name] })) }),
  };
}

function valueOf(field: DescField, define: Define): JsonObject {
  const list = (field.message === undefined ? undefined : wrappedList(field.message)) ?? field;
  const rules = getOption(list, fieldRules);
  if (list.fieldKind !== "list") return oneOf(list, rules, define);
  const { type } = rules;
  const items = type.case === "repeated" ? type.value.items : undefined;
  return { type: "array", items: oneOf(list, items, define) };
}

function oneOf(field: DescField, rules: FieldRules | undefined, define: Define): JsonObject {
  if (field.enum !== undefined) return define(field.enum);
  if (field.message?.typeName === DurationSchema.typeName)
    return { type: "string", pattern: String.raw`^\d+(\.\d+)?(ms|s|m|h)$` };
  if (field.message?.typeName === StructSchema.typeName) return { type: "object" };
  if (field.message !== undefined) return define(field.message);
  switch (field.scalar) {
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.STRING:
      return { type: "string", ...textBounds(rules) };
    case ScalarType.DOUBLE:
      return { type: "number", ...numberBounds(rules) };
    default:
      return { type: "integer", minimum: 0, ...numberBounds(rules) };
  }
}

function textBounds(rules: FieldRules | undefined): JsonObject {
  if (rules?.type.case !== "string") return {};
  const { maxLen, pattern } = rules.type.value;
  return {
    ...(maxLen > 0n ? { maxLength: Number(maxLen) } : {}),
    ...(pattern === "" ? {} : { pattern }),
  };
}

function numberBounds(rules: FieldRules | undefined): JsonObject {
  const type = rules?.type;
  if (type?.case !== "uint32" && type?.case !== "uint64" && type?.case !== "double") return {};
  const { greaterThan: low, lessThan: high } = type.value;
  return {
    ...(low.case === "gte" ? { minimum: Number(low.value) } : {}),
    ...(low.case === "gt" ? { exclusiveMinimum: Number(low.value) } : {}),
    ...(high.case === undefined ? {} : { maximum: Number(high.value) }),
  };
}

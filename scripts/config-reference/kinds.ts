import type { DescField } from "@bufbuild/protobuf";
import { getOption, ScalarType } from "@bufbuild/protobuf";
import { DurationSchema, StructSchema } from "@bufbuild/protobuf/wkt";
import {
  field as fieldRules,
  oneof as oneofRules,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import type { FieldRules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { wrappedList } from "@switchyard/config";

/** Where a type of the schema is described, as a link. */
export type Link = (typeName: string) => string;

/** What may be written for a field: its kind, its bounds, whether it must be there. */
export function kindOf(field: DescField, link: Link): string {
  const list = field.message === undefined ? undefined : wrappedList(field.message);
  const listed = list ?? field;
  const rules = getOption(listed, fieldRules);
  const parts =
    listed.fieldKind === "list"
      ? [`list of ${nameOf(listed, link)}`, ...listBounds(rules)]
      : [nameOf(listed, link), ...bounds(rules)];
  return [...parts, ...(isRequired(field) ? ["**required**"] : [])].join(", ");
}

function nameOf(field: DescField, link: Link): string {
  if (field.enum !== undefined) return link(field.enum.name);
  if (field.message?.typeName === DurationSchema.typeName) return "time";
  if (field.message?.typeName === StructSchema.typeName) return "map";
  if (field.message !== undefined) return link(field.message.name);
  switch (field.scalar) {
    case ScalarType.BOOL:
      return "`true` or `false`";
    case ScalarType.STRING:
      return "text";
    case ScalarType.DOUBLE:
      return "number";
    default:
      return "whole number";
  }
}

/** Whether a field must be given by itself: one of a `oneof` that must is not. */
export function isRequired(field: DescField): boolean {
  const rules = getOption(field, fieldRules);
  if (field.oneof !== undefined && getOption(field.oneof, oneofRules).required) return false;
  const { case: kind, value } = rules.type;
  if (kind === "string") return value.minLen > 0n || value.prefix !== "";
  if (kind === "repeated") return value.minItems > 0n;
  return rules.required || (kind === "enum" && value.notIn.includes(0));
}

function listBounds({ type }: FieldRules): string[] {
  if (type.case !== "repeated") return [];
  const { maxItems, unique, items } = type.value;
  return [
    ...(maxItems > 0n ? [`at most ${counted(maxItems)}`] : []),
    ...(unique ? ["each once"] : []),
    ...(items === undefined ? [] : bounds(items)),
  ];
}

function bounds({ type }: FieldRules): string[] {
  switch (type.case) {
    case "string": {
      const { maxLen, maxBytes, pattern } = type.value;
      return [
        ...(maxLen > 0n ? [`at most ${counted(maxLen)} characters`] : []),
        ...(maxBytes > 0n ? [`at most ${counted(maxBytes)} bytes`] : []),
        ...(pattern === "" ? [] : [`\`${pattern}\``]),
      ];
    }
    case "uint32":
    case "uint64":
    case "double": {
      const { greaterThan: low, lessThan: high } = type.value;
      const from = low.case === undefined ? undefined : low.value;
      const to = high.case === undefined ? undefined : counted(high.value);
      if (to !== undefined) return [`${from ?? 0} to ${to}`];
      if (from === undefined) return [];
      return [low.case === "gt" ? `more than ${from}` : `${from} or more`];
    }
    case "duration": {
      const { greaterThan: low, lessThan: high } = type.value;
      if (low.case !== "gte" || high.case !== "lte") return [];
      return [`${low.value.seconds}s to ${high.value.seconds}s`];
    }
    default:
      return [];
  }
}

function counted(number: number | bigint): string {
  return number.toLocaleString("en");
}

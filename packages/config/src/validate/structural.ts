import type { DescField } from "@bufbuild/protobuf";
import { createValidator } from "@bufbuild/protovalidate";
import type { Violation } from "@bufbuild/protovalidate";
import type { Config } from "@switchyard/proto/config/v1/config";
import { ConfigSchema } from "@switchyard/proto/config/v1/config";
import { choices, wrappedList } from "../decode/schema-forms.ts";
import { fieldPath, itemPath } from "../fault.ts";
import type { Fault } from "../fault.ts";

const validator = createValidator();

/** What the schema's own annotations forbid: lengths, ranges, required fields. */
export function checkStructure(config: Config): Fault[] {
  const result = validator.validate(ConfigSchema, config);
  if (result.kind === "error") throw result.error;
  const faults = (result.violations ?? []).map((violation) => ({
    path: violationPath(violation),
    message: plainWords(violation),
  }));
  // An empty name breaks both its length and its pattern; the first says enough.
  return [...Map.groupBy(faults, ({ path }) => path).values()].flatMap((each) => each.slice(0, 1));
}

function violationPath({ field }: Violation): string {
  let path = "";
  for (const part of field) {
    if (part.kind === "list_sub") path = itemPath(path, part.index);
    else if (part.kind === "field" && wrappedList(part.parent) === undefined)
      path = fieldPath(path, part.name);
  }
  return path;
}

function plainWords(violation: Violation): string {
  const field = violation.field.findLast((part) => part.kind === "field");
  const last = violation.field.at(-1);
  if (last?.kind === "oneof") return `needs one of ${last.fields.map((each) => each.name).join(", ")}`;
  switch (violation.ruleId) {
    case "required":
      return "is missing";
    case "string.min_len":
      return "is missing or empty";
    case "string.pattern":
      return patternWords(field);
    case "string.uri":
      return "must be a URL";
    case "string.prefix":
      return "must start with /";
    case "enum.not_in":
      return `is missing; give one of ${field?.enum === undefined ? "the known values" : choices(field.enum).join(", ")}`;
    case "bool.const":
      return "can only be true";
    case "repeated.unique":
      return "lists something twice";
    case "repeated.min_items":
      return "must not be empty";
    default:
      return violation.message
        .replaceAll(" and less than or equal to ", " and at most ")
        .replace("greater than or equal to", "at least")
        .replace("less than or equal to", "at most");
  }
}

function patternWords(field: DescField | undefined): string {
  if (field?.name === "sha256") return "must be the 64 hexadecimal digits of a SHA-256";
  return "must start with a letter or digit and hold only letters, digits, dots, dashes and underscores";
}

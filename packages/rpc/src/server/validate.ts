import {
  type DescField,
  type DescMessage,
  type DescOneof,
  getOption,
  hasOption,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { createValidator, violationsToProto } from "@bufbuild/protovalidate";
import * as rules from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { failure } from "../failure.ts";

type Check = (value: unknown) => boolean;

const validator = createValidator();
const checks = new Map<string, Check>();

/**
 * Throws `invalid_request` when a message breaks its schema's rules; the violations are details beside it. Protovalidate has the last word; a check
 * compiled from the few rules that hot messages use lets through what is surely valid, because the full validator
 * costs more than all the rest of a call.
 */
export function createRequestCheck(schema: DescMessage): (message: Message) => void {
  const surelyValid = compileMessage(schema);
  return (message) => {
    if (surelyValid(message)) return;
    const result = validator.validate(schema, message);
    if (result.kind === "valid") return;
    const error = failure("invalid_request", result.error.message, { status: 400, cause: result.error });
    if (result.kind === "invalid") {
      const [value, desc] = violationsToProto(result.violations);
      error.details.push({ desc, value });
    }
    throw error;
  };
}

/** True only for messages that keep all their rules; false says nothing. */
export function compileMessage(schema: DescMessage): Check {
  const known = checks.get(schema.typeName);
  if (known !== undefined) return known;
  const parts: Check[] = [];
  const check: Check = (message) => {
    for (const part of parts) if (!part(message)) return false;
    return true;
  };
  checks.set(schema.typeName, check);
  if (hasOption(schema, rules.message)) parts.push(() => false);
  for (const oneof of schema.oneofs) parts.push(...compileOneof(oneof));
  for (const field of schema.fields) {
    const value = compileField(field);
    if (value !== undefined && field.oneof === undefined) {
      const name = field.localName;
      parts.push((message) => value((message as Record<string, unknown>)[name]));
    }
  }
  return check;
}

function compileOneof(oneof: DescOneof): Check[] {
  const members = new Map<string, Check>();
  for (const field of oneof.fields) {
    const check = compileField(field);
    if (check !== undefined) members.set(field.localName, check);
  }
  const required = hasOption(oneof, rules.oneof) && getOption(oneof, rules.oneof).required;
  if (!required && members.size === 0) return [];
  const name = oneof.localName;
  return [
    (message) => {
      const chosen = (message as Record<string, { case?: string; value?: unknown }>)[name];
      if (chosen?.case === undefined) return !required;
      return members.get(chosen.case)?.(chosen.value) ?? true;
    },
  ];
}

/** A check of a field's value, undefined when any value will do. */
function compileField(field: DescField): Check | undefined {
  const own = hasOption(field, rules.field) ? compileRules(field) : undefined;
  const below = compileBelow(field);
  if (own === undefined || below === undefined) return own ?? below;
  return (value) => own(value) && below(value);
}

function compileBelow(field: DescField): Check | undefined {
  if (field.message === undefined || !hasRules(field.message, new Set())) return undefined;
  const check = compileMessage(field.message);
  if (field.fieldKind === "list") return (value) => (value as unknown[]).every(check);
  if (field.fieldKind === "map") return (value) => Object.values(value as object).every(check);
  return (value) => value === undefined || check(value);
}

function hasRules(schema: DescMessage, seen: Set<string>): boolean {
  if (seen.has(schema.typeName)) return false;
  seen.add(schema.typeName);
  return (
    hasOption(schema, rules.message) ||
    schema.oneofs.some((oneof) => hasOption(oneof, rules.oneof)) ||
    schema.fields.some(
      (field) =>
        hasOption(field, rules.field) || (field.message !== undefined && hasRules(field.message, seen)),
    )
  );
}

const unsure: Check = () => false;

function compileRules(field: DescField): Check {
  const own = getOption(field, rules.field);
  const set = namesSet(rules.FieldRulesSchema, own);
  const parts: Check[] = [];
  let required = false;
  for (const name of set) {
    const typed = own.type.value as Message | undefined;
    if (name === "required" && field.message !== undefined && field.fieldKind === "message") required = true;
    else if (name === own.type.case && typed !== undefined) parts.push(compileTyped(field, name, typed));
    else return unsure;
  }
  return (value) => {
    if (value === undefined) return !required;
    for (const part of parts) if (!part(value)) return false;
    return true;
  };
}

function compileTyped(field: DescField, kind: string, typed: Message): Check {
  const limits = typed as unknown as Record<string, never>;
  const names = namesSet(typedSchemas[kind], typed);
  const allowed = knownRules[kind];
  if (allowed === undefined || names === undefined || !names.every((name) => allowed.includes(name)))
    return unsure;
  const { minLen, maxLen, prefix, minItems, maxItems, notIn } = limits as Limits;
  switch (kind) {
    case "string":
      if (field.scalar !== ScalarType.STRING || field.fieldKind !== "scalar") return unsure;
      // Rules count code points: never more than UTF-16 units, and at least half as many.
      return (value) => {
        const { length } = value as string;
        if (maxLen !== undefined && length > maxLen) return false;
        if (minLen !== undefined && length < (minLen === 1n ? 1n : minLen * 2n)) return false;
        return prefix === undefined || (value as string).startsWith(prefix);
      };
    case "bytes":
      if (field.scalar !== ScalarType.BYTES || field.fieldKind !== "scalar") return unsure;
      return (value) => {
        const { length } = value as Uint8Array;
        return (maxLen === undefined || length <= maxLen) && (minLen === undefined || length >= minLen);
      };
    case "repeated":
      return (value) => {
        const { length } = value as unknown[];
        return (
          (maxItems === undefined || length <= maxItems) && (minItems === undefined || length >= minItems)
        );
      };
    case "enum": {
      if (field.fieldKind !== "enum") return unsure;
      const fine = new Set(field.enum.values.map((value) => value.number));
      for (const number of notIn ?? []) fine.delete(number);
      return (value) => fine.has(value as number);
    }
    default:
      return unsure;
  }
}

interface Limits {
  minLen?: bigint;
  maxLen?: bigint;
  prefix?: string;
  minItems?: bigint;
  maxItems?: bigint;
  notIn?: number[];
}

const knownRules: Record<string, readonly string[]> = {
  string: ["minLen", "maxLen", "prefix"],
  bytes: ["minLen", "maxLen"],
  repeated: ["minItems", "maxItems"],
  enum: ["definedOnly", "notIn"],
};

const typedSchemas: Record<string, DescMessage> = {
  string: rules.StringRulesSchema,
  bytes: rules.BytesRulesSchema,
  repeated: rules.RepeatedRulesSchema,
  enum: rules.EnumRulesSchema,
};

/** Local names of the fields that a rules message has set; undefined when it has any this code cannot know. */
function namesSet(schema: DescMessage | undefined, message: Message): string[] {
  if (schema === undefined) return ["unknown"];
  if (message.$unknown !== undefined && message.$unknown.length > 0) return ["unknown"];
  const view = reflect(schema, message as never);
  return schema.fields.filter((field) => view.isSet(field)).map((field) => field.localName);
}

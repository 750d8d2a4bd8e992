import { isMessage, toJson } from "@bufbuild/protobuf";
import type { DescEnum, DescField, JsonObject, JsonValue, MessageShape } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import type { ReflectMessage } from "@bufbuild/protobuf/reflect";
import { DurationSchema, StructSchema } from "@bufbuild/protobuf/wkt";
import type { DescMessage } from "@bufbuild/protobuf";
import type { Config } from "@switchyard/proto/config/v1/config";
import { ConfigSchema } from "@switchyard/proto/config/v1/config";
import { formatDuration } from "./duration.ts";
import { shortName, wrappedList } from "./schema-forms.ts";

/** The config as plain data in the documented short form: what a file would say, fields in the schema's order. */
export function encodeConfig(config: Config): JsonObject {
  return encodeMessage(ConfigSchema, config);
}

/** Any message of the config schema in the documented short form. */
export function encodeMessage<Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>): JsonObject {
  return encodeFields(reflect(desc, message));
}

function encodeFields(message: ReflectMessage): JsonObject {
  const entries = message.fields
    .filter((field) => message.isSet(field))
    .map((field): [string, JsonValue] => [field.name, encodeField(message, field)]);
  return Object.fromEntries(entries);
}

function encodeField(message: ReflectMessage, field: DescField): JsonValue {
  if (field.fieldKind === "list") return [...message.get(field)].map((item) => encodeValue(field, item));
  return encodeValue(field, message.get(field));
}

function encodeValue(field: DescField, value: unknown): JsonValue {
  if (field.enum !== undefined) return encodeEnum(field.enum, value);
  if (field.message !== undefined) return encodeSub(field.message, value);
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value.toString();
  }
  return value as JsonValue;
}

function encodeEnum(desc: DescEnum, value: unknown): JsonValue {
  return typeof value === "number" ? shortName(desc, value) : null;
}

function encodeSub(desc: DescMessage, value: unknown): JsonValue {
  const sub = value as ReflectMessage;
  if (isMessage(sub.message, StructSchema)) return toJson(StructSchema, sub.message);
  if (isMessage(sub.message, DurationSchema)) return formatDuration(sub.message);
  const list = wrappedList(desc);
  return list === undefined ? encodeFields(sub) : encodeField(sub, list);
}

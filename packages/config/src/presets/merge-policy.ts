import { clone } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import type { ReflectMessage } from "@bufbuild/protobuf/reflect";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import type { DescMessage } from "@bufbuild/protobuf";
import { PolicySchema, Preset } from "@switchyard/proto/config/v1/policy";
import type { Policy } from "@switchyard/proto/config/v1/policy";
import { wrappedList } from "../decode/schema-forms.ts";
import { presetPolicy } from "./presets.ts";

/**
 * The policy that a group written with `overrides` has: the preset's, with the fields beside it set one by one,
 * nested ones too. A list that is present replaces the preset's, even when empty.
 */
export function mergePolicy(overrides: Policy | undefined): Policy {
  const merged = clone(PolicySchema, presetPolicy(overrides?.preset ?? Preset.GROUP_FAILOVER));
  if (overrides !== undefined) mergeInto(reflect(PolicySchema, merged), reflect(PolicySchema, overrides));
  return merged;
}

function mergeInto(target: ReflectMessage, overrides: ReflectMessage): void {
  for (const field of overrides.fields) {
    if (!overrides.isSet(field)) continue;
    if (field.fieldKind === "message" && !isReplacedWhole(field.message)) {
      const nested = target.get(field);
      mergeInto(nested, overrides.get(field));
      target.set(field, nested);
      continue;
    }
    target.set(field, overrides.get(field));
  }
}

function isReplacedWhole(desc: DescMessage): boolean {
  return desc.typeName === DurationSchema.typeName || wrappedList(desc) !== undefined;
}

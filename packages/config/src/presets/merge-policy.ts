import { isFieldSet } from "@bufbuild/protobuf";
import type { DescMessage } from "@bufbuild/protobuf";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import { PolicySchema, Preset } from "@switchyard/proto/config/v1/policy";
import type { Policy } from "@switchyard/proto/config/v1/policy";
import { wrappedList } from "../decode/schema-forms.ts";
import { presetPolicy } from "./presets.ts";

/** The fields of a message by their names in it. */
type Fields = Record<string, unknown>;

/**
 * The policy that a group written with `overrides` has: the preset's, with the fields beside it set one by one,
 * nested ones too. A list that is present replaces the preset's, even when empty. It shares its parts with both, so
 * nobody edits it.
 */
export function mergePolicy(overrides: Policy | undefined): Policy {
  const preset = presetPolicy(overrides?.preset ?? Preset.GROUP_FAILOVER);
  return overrides === undefined ? preset : merged(PolicySchema, preset, overrides);
}

function merged<Message extends object>(desc: DescMessage, base: Message, overrides: Message): Message {
  // The prototype holds what reads as unset. Fields are laid over as they are: reflection costs ten times as much, and
  // a config has a policy for each of thousands of groups.
  const result = Object.assign(
    Object.create(Object.getPrototypeOf(base) as object) as Message & Fields,
    base,
  );
  const [under, over] = [base as Fields, overrides as Fields];
  for (const field of desc.fields) {
    if (!isFieldSet(overrides as never, field)) continue;
    const name: keyof Fields = field.localName;
    const [old, next] = [under[name], over[name]];
    const nested =
      field.fieldKind === "message" && !isReplacedWhole(field.message) ? field.message : undefined;
    (result as Fields)[name] =
      nested === undefined || old === undefined ? next : merged(nested, old as object, next as object);
  }
  return result;
}

function isReplacedWhole(desc: DescMessage): boolean {
  return desc.typeName === DurationSchema.typeName || wrappedList(desc) !== undefined;
}

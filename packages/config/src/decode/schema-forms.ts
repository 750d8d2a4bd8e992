import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import { CredentialSchema, KeySecretSchema } from "@switchyard/proto/config/v1/config";

/** `weighted` for `STRATEGY_WEIGHTED`: how config files write an enum value. */
export function shortName(desc: DescEnum, number: number): string {
  const name = desc.value[number]?.name ?? String(number);
  const prefix = desc.sharedPrefix?.toUpperCase() ?? "";
  return (name.startsWith(prefix) ? name.slice(prefix.length) : name).toLowerCase();
}

/** What may be written for an enum, in the order of the schema; the value that means "not given" is left out. */
export function choices(desc: DescEnum): string[] {
  return desc.values.filter((value) => value.number !== 0).map((value) => shortName(desc, value.number));
}

/** The number of an enum value written short or in full. */
export function enumNumber(desc: DescEnum, text: string): number | undefined {
  return desc.values.find((value) => value.name === text || shortName(desc, value.number) === text)?.number;
}

/** The only field of a message that stands for a list whose presence counts; it is written as a plain list. */
export function wrappedList(desc: DescMessage): (DescField & { fieldKind: "list" }) | undefined {
  const only = desc.fields.length === 1 ? desc.fields[0] : undefined;
  if (only?.fieldKind !== "list" || only.name !== "values" || !desc.name.endsWith("List")) return undefined;
  return only;
}

/** Messages that say where a secret is read. What stands there by mistake may be the secret, so it is never shown. */
export function holdsSecretReference(desc: DescMessage): boolean {
  return desc.typeName === CredentialSchema.typeName || desc.typeName === KeySecretSchema.typeName;
}

/** How a reference to a secret is written. */
export function referenceForms(desc: DescMessage): string {
  return desc.typeName === KeySecretSchema.typeName
    ? "{ env: NAME }, { file: PATH } or { sha256: HEX }"
    : "{ env: NAME }, { file: PATH } or { none: true }";
}

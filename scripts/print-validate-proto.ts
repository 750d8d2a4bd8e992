// @bufbuild/protovalidate ships the descriptor of buf/validate/validate.proto but not its text, which buf and other
// languages' compilers need. This prints the text from the descriptor: `gen:validate` writes it, `--check` compares.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getExtension, hasExtension, isFieldSet } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FieldDescriptorProto,
  FieldDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import {
  file_buf_validate_validate,
  predefined,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";

const target = "third_party/proto/buf/validate/validate.proto";
const largestFieldNumber = 536_870_911;

const scalarNames = new Map<Type, string>([
  [Type.DOUBLE, "double"],
  [Type.FLOAT, "float"],
  [Type.INT64, "int64"],
  [Type.UINT64, "uint64"],
  [Type.INT32, "int32"],
  [Type.FIXED64, "fixed64"],
  [Type.FIXED32, "fixed32"],
  [Type.BOOL, "bool"],
  [Type.STRING, "string"],
  [Type.BYTES, "bytes"],
  [Type.UINT32, "uint32"],
  [Type.SFIXED32, "sfixed32"],
  [Type.SFIXED64, "sfixed64"],
  [Type.SINT32, "sint32"],
  [Type.SINT64, "sint64"],
]);

function typeName(field: FieldDescriptorProto): string {
  return scalarNames.get(field.type) ?? field.typeName;
}

function predefinedRules(field: FieldDescriptorProto): string {
  if (field.options === undefined || !hasExtension(field.options, predefined)) return "";
  const rules = getExtension(field.options, predefined).cel.map((rule) => {
    const parts = Object.entries({ id: rule.id, message: rule.message, expression: rule.expression })
      .filter(([, value]) => value !== "")
      .map(([key, value]) => `      ${key}: ${JSON.stringify(value)}`);
    return `    (predefined).cel = {\n${parts.join("\n")}\n    }`;
  });
  return ` [\n${rules.join(",\n")}\n  ]`;
}

function printField(field: FieldDescriptorProto, label: string): string {
  return `  ${label}${typeName(field)} ${field.name} = ${field.number}${predefinedRules(field)};`;
}

function labelOf(field: FieldDescriptorProto): string {
  return field.label === Label.REPEATED
    ? "repeated "
    : field.label === Label.REQUIRED
      ? "required "
      : "optional ";
}

function printRange(start: number, lastIncluded: number): string {
  if (lastIncluded >= largestFieldNumber) return `${start} to max`;
  return start === lastIncluded ? `${start}` : `${start} to ${lastIncluded}`;
}

// An unset proto2 field reads as its default, which for an index is the index of the first oneof.
function isInOneof(field: FieldDescriptorProto): boolean {
  return isFieldSet(field, FieldDescriptorProtoSchema.field.oneofIndex);
}

function printMessage(message: DescriptorProto): string {
  const lines: string[] = [];
  const printedOneofs = new Set<number>();
  for (const field of message.field) {
    if (!isInOneof(field)) {
      lines.push(printField(field, labelOf(field)));
    } else if (!printedOneofs.has(field.oneofIndex)) {
      printedOneofs.add(field.oneofIndex);
      const members = message.field.filter(
        (other) => isInOneof(other) && other.oneofIndex === field.oneofIndex,
      );
      lines.push(
        `  oneof ${message.oneofDecl[field.oneofIndex]?.name ?? ""} {`,
        ...members.map((member) => `  ${printField(member, "")}`),
        "  }",
      );
    }
  }
  for (const range of message.extensionRange)
    lines.push(`  extensions ${printRange(range.start, range.end - 1)};`);
  for (const range of message.reservedRange)
    lines.push(`  reserved ${printRange(range.start, range.end - 1)};`);
  for (const name of message.reservedName) lines.push(`  reserved ${JSON.stringify(name)};`);
  return `message ${message.name} {\n${lines.join("\n")}\n}\n`;
}

function printEnum(declared: EnumDescriptorProto): string {
  const lines = declared.value.map((value) => `  ${value.name} = ${value.number};`);
  for (const range of declared.reservedRange) lines.push(`  reserved ${printRange(range.start, range.end)};`);
  for (const name of declared.reservedName) lines.push(`  reserved ${JSON.stringify(name)};`);
  return `enum ${declared.name} {\n${lines.join("\n")}\n}\n`;
}

function printFile(): string {
  const file = file_buf_validate_validate.proto;
  const options = [
    `option go_package = ${JSON.stringify(file.options?.goPackage)};`,
    `option java_multiple_files = ${String(file.options?.javaMultipleFiles)};`,
    `option java_outer_classname = ${JSON.stringify(file.options?.javaOuterClassname)};`,
    `option java_package = ${JSON.stringify(file.options?.javaPackage)};`,
  ];
  const extensions = file.extension.map(
    (field) => `extend ${field.extendee} {\n${printField(field, labelOf(field))}\n}\n`,
  );
  return [
    "// Copyright 2023-2026 Buf Technologies, Inc. Licensed under the Apache License, Version 2.0.\n" +
      "// Printed by scripts/print-validate-proto.ts from the descriptor in @bufbuild/protovalidate; do not edit.\n",
    'syntax = "proto2";\n',
    `package ${file.package};\n`,
    `${file.dependency.map((name) => `import ${JSON.stringify(name)};`).join("\n")}\n`,
    `${options.join("\n")}\n`,
    ...extensions,
    ...file.messageType.map(printMessage),
    ...file.enumType.map(printEnum),
  ].join("\n");
}

function format(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "print-validate-proto-"));
  try {
    writeFileSync(join(folder, "validate.proto"), text);
    return execFileSync("buf", ["format", folder], { encoding: "utf8" });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const printed = format(printFile());
if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== printed) {
    console.error(`${target} is not what @bufbuild/protovalidate ships; run: pnpm gen:validate`);
    process.exit(1);
  }
} else {
  writeFileSync(target, printed);
}

import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import { getOption } from "@bufbuild/protobuf";
import { oneof as oneofRules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { NOT_IN_FORCE, shortName, wrappedList } from "@switchyard/config";
import { ConfigSchema } from "@switchyard/proto/config/v1/config";
import { type Comments, readComments } from "./comments.ts";
import { kindOf } from "./kinds.ts";
import { INTRODUCTION, PRESETS } from "./prose.ts";
import { presetTable, tableOf } from "./presets.ts";

/** `docs/config.md`: every field of a config, from the protos of `switchyard.config.v1` and the presets. */
export function configReference(root: string): string {
  const comments = readComments(root);
  const places = placesOf(ConfigSchema);
  const sections = [...places].flatMap(([desc, paths]) =>
    desc.kind === "message" ? messageSection(desc, paths, comments) : enumSection(desc, comments),
  );
  return `${[INTRODUCTION, ...sections, PRESETS, ...presetTable()].join("\n")}\n`;
}

/** Every message and enum below a message, in the order in which a reader meets them, with the paths where they stand. */
function placesOf(root: DescMessage): Map<DescMessage | DescEnum, string[]> {
  const places = new Map<DescMessage | DescEnum, string[]>();
  const visit = (desc: DescMessage, path: string): void => {
    const known = places.get(desc);
    if (known !== undefined) {
      known.push(path);
      return;
    }
    places.set(desc, [path]);
    for (const outer of desc.fields) {
      const field = listed(outer);
      if (field.enum !== undefined && !places.has(field.enum)) places.set(field.enum, []);
    }
    for (const outer of desc.fields) {
      const { message } = listed(outer);
      if (message?.file.proto.package === root.file.proto.package) visit(message, pathOf(path, outer));
    }
  };
  visit(root, "");
  return places;
}

/** The field that holds a list's items, where a message stands for the list. */
function listed(field: DescField): DescField {
  return (field.message === undefined ? undefined : wrappedList(field.message)) ?? field;
}

function pathOf(path: string, field: DescField): string {
  const name = path === "" ? field.name : `${path}.${field.name}`;
  return listed(field).fieldKind === "list" ? `${name}[]` : name;
}

function messageSection(desc: DescMessage, paths: readonly string[], comments: Comments): string[] {
  const rows = desc.fields.map((field) => {
    const inForce = paths.some(
      (path) => !NOT_IN_FORCE.includes(path === "" ? field.name : `${path}.${field.name}`),
    );
    const meaning = comments.get(`${desc.name}.${field.name}`) ?? "";
    const note = inForce ? "" : " **Not in force yet.**";
    return [`\`${field.name}\``, kindOf(field, link), `${meaning}${note}`];
  });
  const oneof = desc.oneofs.find((each) => getOption(each, oneofRules).required);
  const where = paths.filter((path) => path !== "").map((path) => `\`${path}\``);
  return [
    `## ${desc.name}`,
    "",
    `${where.length === 0 ? "" : `At ${where.join(", ")}. `}${comments.get(desc.name) ?? ""}`,
    ...(oneof === undefined
      ? []
      : ["", `Exactly one of ${oneof.fields.map(({ name }) => `\`${name}\``).join(", ")} is given.`]),
    "",
    ...tableOf(["field", "value", "meaning"], rows),
    "",
  ];
}

function enumSection(desc: DescEnum, comments: Comments): string[] {
  const meaning = (name: string): string => comments.get(`${desc.name}.${name}`) ?? "";
  const rows = desc.values
    .filter(({ number }) => number !== 0)
    .map(({ name, number }) => [`\`${shortName(desc, number)}\``, meaning(name)]);
  const absent = absentText(desc, meaning(desc.values.find(({ number }) => number === 0)?.name ?? ""));
  return [
    `### ${desc.name}`,
    "",
    `${comments.get(desc.name) ?? ""}${absent}`,
    "",
    ...tableOf(["value", "meaning"], rows),
    "",
  ];
}

/** What an enum means that is not given, from the comment of its zero value. */
function absentText(desc: DescEnum, comment: string): string {
  if (comment.endsWith("refused.")) return "";
  const same = desc.values.find(({ name }) => comment === `Means ${name}.`);
  if (same !== undefined) return ` When absent: \`${shortName(desc, same.number)}\`.`;
  return ` When absent: ${comment.charAt(0).toLowerCase()}${comment.slice(1)}`;
}

function link(name: string): string {
  return `[${name}](#${name.toLowerCase()})`;
}

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

/** Field numbers of `FileDescriptorProto` and below, of which source locations are made. */
const [MESSAGES, ENUMS, FIELDS, VALUES] = [4, 5, 2, 2];

/** What the protos say of a message, an enum, a field (`Type.field`) or a value (`Type.VALUE`), without rule numbers. */
export type Comments = ReadonlyMap<string, string>;

/** The comments of `switchyard.config.v1`, which descriptors in the code do not have. */
export function readComments(root: string): Comments {
  const args = ["build", "--path", "proto/switchyard/config/v1", "-o", "-#format=binpb"];
  const set = fromBinary(
    FileDescriptorSetSchema,
    execFileSync(join(root, "node_modules/.bin/buf"), args, { cwd: root }),
  );
  const comments = new Map<string, string>();
  for (const file of set.file.filter((each) => each.package === "switchyard.config.v1")) {
    const at = new Map(
      file.sourceCodeInfo?.location.map((each) => [each.path.join("."), plain(each.leadingComments)]),
    );
    for (const [index, { name, field }] of file.messageType.entries()) {
      comments.set(name, at.get(`${MESSAGES}.${index}`) ?? "");
      for (const [place, each] of field.entries())
        comments.set(`${name}.${each.name}`, at.get(`${MESSAGES}.${index}.${FIELDS}.${place}`) ?? "");
    }
    for (const [index, { name, value }] of file.enumType.entries()) {
      comments.set(name, at.get(`${ENUMS}.${index}`) ?? "");
      for (const [place, each] of value.entries())
        comments.set(`${name}.${each.name}`, at.get(`${ENUMS}.${index}.${VALUES}.${place}`) ?? "");
    }
  }
  return comments;
}

/** One line; `(R3)` and `(section 5)` name rules that tests show. */
function plain(comment: string): string {
  return comment
    .replaceAll(/\s+/gu, " ")
    .replaceAll(/ \((?:[A-Z]+\d+(?:, [A-Z]+\d+)*|section \d+)\)/gu, "")
    .trim();
}

import { KeyTable } from "../json/key-table.ts";
import { replaceMembers } from "../json/replace-members.ts";
import { KeySlots, scanDocument } from "../json/scan.ts";
import { encodeUtf8 } from "../json/text.ts";

const MODEL_KEYS = new KeyTable(["model"], "model");
const VERSION_KEYS = new KeyTable(["anthropic_version"]);
const versionSlots = new KeySlots(VERSION_KEYS);
const VERSION = encodeUtf8('"anthropic_version":"vertex-2023-10-16"');

/** A messages body as Vertex takes it: the URL names the model, the body the version. All else stays as it is (P1). */
export function vertexClaudeBody(bytes: Uint8Array): Uint8Array {
  const hasVersion = scanDocument(bytes, VERSION_KEYS, versionSlots) && versionSlots.has(0);
  return replaceMembers(bytes, MODEL_KEYS, hasVersion ? undefined : VERSION);
}

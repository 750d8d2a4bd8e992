import { createHash } from "node:crypto";
import type { JsonValue } from "@bufbuild/protobuf";
import type { Config } from "@switchyard/proto/config/v1/config";
import { encodeConfig } from "../decode/encode-config.ts";

const HASH_DIGITS = 12;

/** First 12 hexadecimal digits of the SHA-256 of a config without `runtime`, however it was written. */
export function configHash(config: Config): string {
  const { runtime: _ofOneProcess, ...shared } = encodeConfig(config);
  return sha256Hex(canonicalJson(shared)).slice(0, HASH_DIGITS);
}

/** Lower-case hexadecimal SHA-256 of a text's UTF-8. */
export function sha256Hex(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

/** JSON with the names of every mapping in order, so that equal data gives equal text. */
export function canonicalJson(value: JsonValue): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([name, each]) => `${JSON.stringify(name)}:${canonicalJson(each)}`).join(",")}}`;
}

import { KeyTable } from "../json/key-table.ts";
import { KeySlots, readString, scanObject } from "../json/scan.ts";
import type { BodyFacts, ByteRange } from "./facts.ts";

const METADATA_KEYS = new KeyTable(["user_id"]);
const slots = new KeySlots(METADATA_KEYS);

/** The body's part of a session's name (F3): the first of `prompt_cache_key`, `metadata.user_id` and `user` that is a text. */
export function readSessionKey(bytes: Uint8Array, facts: BodyFacts): string | undefined {
  const { promptCacheKey, metadata, user } = facts.layout;
  return (
    readText(bytes, promptCacheKey) ?? readText(bytes, userIdOf(bytes, metadata)) ?? readText(bytes, user)
  );
}

function userIdOf(bytes: Uint8Array, metadata: ByteRange | undefined): ByteRange | undefined {
  if (metadata === undefined || bytes[metadata.start] !== 0x7b) return undefined;
  scanObject(bytes, metadata.start, metadata.end, METADATA_KEYS, slots);
  return slots.has(0) ? { start: slots.start(0), end: slots.end(0) } : undefined;
}

function readText(bytes: Uint8Array, range: ByteRange | undefined): string | undefined {
  if (range === undefined || bytes[range.start] !== 0x22) return undefined;
  const text = readString(bytes, range.start, range.end);
  return text === "" ? undefined : text;
}

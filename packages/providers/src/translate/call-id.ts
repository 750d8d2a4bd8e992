import { crc32 } from "../event-stream/crc32.ts";
import { encodeUtf8 } from "../json/text.ts";

/** Most of an answer's id that goes into those of its calls: OpenAI takes forty characters. */
const ID_LENGTH = 24;

/**
 * An id for a call to which its provider gave none: unique in a conversation, since the answer's id is, and in characters that every API
 * takes.
 */
export function callIdOf(answerId: string, choice: number, call: number): string {
  const answer = answerId.replace(/[^a-zA-Z0-9]/gu, "").slice(-ID_LENGTH);
  return `call_${answer}_${choice === 0 ? "" : `${choice}_`}${call}`;
}

/** An id in the characters that Anthropic and Bedrock take. A call and its result change alike. */
export function plainId(id: string, limit?: number): string {
  const plain = id.replace(/[^a-zA-Z0-9_-]/gu, "_") || "_";
  return limit === undefined ? plain : cut(plain, id, limit);
}

/** An id of at most this many characters; those that differ stay different. */
export function shortId(id: string, limit: number): string {
  return cut(id, id, limit);
}

function cut(text: string, id: string, limit: number): string {
  if (text.length <= limit) return text;
  const bytes = encodeUtf8(id);
  return `${text.slice(0, limit - 9)}_${crc32(bytes, 0, bytes.length).toString(16).padStart(8, "0")}`;
}

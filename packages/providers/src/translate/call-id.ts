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

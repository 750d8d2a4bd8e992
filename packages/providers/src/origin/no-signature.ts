/** Google's documented word for a signature that is not there (BH-26). */
export const NO_SIGNATURE = "skip_thought_signature_validator";

const OLDER = /gemini-[12](?:\D|$)/u;

/** Whether a model of Google's refuses calls without a signature: all but the older ones, which ask for none. */
export function wantsSignatures(model: string): boolean {
  return !OLDER.test(model);
}

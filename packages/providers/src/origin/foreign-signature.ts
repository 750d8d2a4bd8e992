import type { ThinkingFormat } from "../neutral/events.ts";
import { originIn } from "./origin-mark.ts";

/** What stands before a signature of Google's in a block that has no place to say who signed it. No signature holds a colon. */
export const GOOGLE_MARK = "google-gemini-v1:";

/** A signature that its caller gives back as it came, so that it reaches who made it and nobody else. */
export function markSignature(signature: string, format: ThinkingFormat): string {
  return format === "google-gemini-v1" ? GOOGLE_MARK + signature : signature;
}

/** What {@link markSignature} was given. */
export function readSignature(marked: string | undefined): {
  readonly signature: string | undefined;
  readonly format: ThinkingFormat | undefined;
} {
  // One that is marked with its account is of a model that is not Claude, and nobody else can do anything with it.
  if (marked === undefined || marked === "" || originIn(marked) !== undefined)
    return { signature: undefined, format: undefined };
  if (!marked.startsWith(GOOGLE_MARK)) return { signature: marked, format: undefined };
  return { signature: marked.slice(GOOGLE_MARK.length), format: "google-gemini-v1" };
}

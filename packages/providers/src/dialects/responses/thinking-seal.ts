import type { ThinkingFormat } from "../../neutral/events.ts";

const SIGNED = "anthropic-claude-v1";
const SIGNATURE = `${SIGNED}.signature.`;
const REDACTED = `${SIGNED}.redacted.`;

/** What the thinking of another vendor looks like as `encrypted_content`: who signed it, and its own words for it. */
export type Sealed = { readonly kind: "signature" | "redacted"; readonly data: string };

/** Undefined for a vendor whose thinking no request can bring back. */
export function seal(kind: Sealed["kind"], data: string, format: ThinkingFormat): string | undefined {
  if (format !== SIGNED) return undefined;
  return (kind === "signature" ? SIGNATURE : REDACTED) + data;
}

/** The inverse of {@link seal}; undefined for what was sealed elsewhere. */
export function openSeal(content: string | undefined): Sealed | undefined {
  if (content?.startsWith(SIGNATURE) === true)
    return { kind: "signature", data: content.slice(SIGNATURE.length) };
  if (content?.startsWith(REDACTED) === true)
    return { kind: "redacted", data: content.slice(REDACTED.length) };
  return undefined;
}

import type { ThinkingFormat } from "../neutral/events.ts";

/** What the thinking of another vendor looks like as `encrypted_content`: who signed it, and its own words for it. */
export interface Sealed {
  readonly kind: "signature" | "redacted";
  readonly data: string;
  readonly format: ThinkingFormat;
}

const SEAL = /^(anthropic-claude-v1|google-gemini-v1)\.(signature|redacted)\./u;

/** Names the vendor in front of what only it can check or read. */
export function seal({ kind, data, format }: Sealed): string {
  return `${format}.${kind}.${data}`;
}

/** The inverse of {@link seal}; undefined for what was sealed elsewhere. */
export function openSeal(content: string | undefined): Sealed | undefined {
  const [prefix, format, kind] = SEAL.exec(content ?? "") ?? [];
  if (content === undefined || prefix === undefined) return undefined;
  return {
    kind: kind as Sealed["kind"],
    format: format as ThinkingFormat,
    data: content.slice(prefix.length),
  };
}

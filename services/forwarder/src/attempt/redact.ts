import { secretParts } from "@switchyard/providers";
import type { RealAnswer } from "./real-answer.ts";

/** Shorter ones are found in plain words, and are no secrets. */
const SHORTEST = 8;
const REDACTED = "[redacted]";

function formsOf(secret: string): string[] {
  return [secret, encodeURIComponent(secret), Buffer.from(secret).toString("base64")];
}

/**
 * Takes a provider's secret out of what the provider says: some repeat the key or the address that they complain
 * about, and P9 keeps credentials from callers. Finds it, and each of its parts, as it is, URL-encoded and in base64.
 */
export class Redactor {
  readonly #forms: readonly string[];

  constructor(secret: string | undefined) {
    const parts = secret === undefined ? [] : secretParts(secret);
    this.#forms = [...new Set(parts.filter(({ length }) => length >= SHORTEST).flatMap(formsOf))];
  }

  bytes(bytes: Uint8Array): Uint8Array {
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (!this.#forms.some((form) => view.includes(form))) return bytes;
    // Latin-1 keeps every byte what it is, and secrets travel in headers, so they are ASCII.
    let text = view.toString("latin1");
    for (const form of this.#forms) text = text.replaceAll(form, REDACTED);
    return Buffer.from(text, "latin1");
  }

  answer(answer: RealAnswer): RealAnswer {
    const headers: string[] = [];
    for (let at = 0; at + 1 < answer.headers.length; at += 2) {
      const value = answer.headers[at + 1] as string;
      if (!this.#forms.some((form) => value.includes(form)))
        headers.push(answer.headers[at] as string, value);
    }
    return { status: answer.status, headers, body: this.bytes(answer.body) };
  }
}

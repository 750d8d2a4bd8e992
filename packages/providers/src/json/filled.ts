import type { KeySlots } from "./scan.ts";
import { skipSpace } from "./skip.ts";

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const QUOTE = 0x22;

/** Whether the value of a key says something: not null, false, 0, empty text, empty list or empty object. */
export function isFilled(bytes: Uint8Array, slots: KeySlots, key: number): boolean {
  if (!slots.has(key)) return false;
  const start = slots.start(key);
  switch (bytes[start]) {
    case QUOTE:
      return slots.end(key) - start > 2;
    case OPEN_BRACE:
    case OPEN_BRACKET:
      return skipSpace(bytes, start + 1, slots.end(key)) < slots.end(key) - 1;
    case 0x6e:
    case 0x66:
      return false;
    default:
      return slots.end(key) - start > 1 || bytes[start] !== 0x30;
  }
}

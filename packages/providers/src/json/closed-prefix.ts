const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;

/**
 * The longest beginning of a JSON text that was cut off which, with its brackets closed, is JSON again: half a member, and a number that
 * may have gone on, are left out. A text that is whole comes back as it is.
 */
export function closedPrefix(json: string): string {
  // What closes what is open at `kept`: no bracket comes after it.
  const closers: string[] = [];
  let kept = 0;
  let isKey = false;
  let position = 0;
  while (position < json.length) {
    const code = json.charCodeAt(position);
    if (code === QUOTE) {
      const end = stringEnd(json, position);
      if (end < 0) break;
      position = end;
      if (!isKey) kept = position;
      continue;
    }
    const character = json.charAt(position);
    if (character === "{" || character === "[") {
      closers.push(character === "{" ? "}" : "]");
      isKey = character === "{";
      kept = position + 1;
    } else if (character === "}" || character === "]") {
      closers.pop();
      isKey = false;
      kept = position + 1;
    } else if (code === COMMA) isKey = closers.at(-1) === "}";
    else if (code === COLON) isKey = false;
    else if (isScalar(character)) {
      position = scalarEnd(json, position);
      if (position < json.length) kept = position;
      continue;
    }
    position++;
  }
  return json.slice(0, kept) + closers.toReversed().join("");
}

/** Behind the closing quote; -1 where there is none. */
function stringEnd(json: string, start: number): number {
  for (let position = start + 1; position < json.length; position++) {
    const code = json.charCodeAt(position);
    if (code === BACKSLASH) position++;
    else if (code === QUOTE) return position + 1;
  }
  return -1;
}

function scalarEnd(json: string, start: number): number {
  let position = start;
  while (position < json.length && isScalar(json.charAt(position))) position++;
  return position;
}

/** Of a number or a word. */
function isScalar(character: string): boolean {
  return /[\w.+-]/u.test(character);
}

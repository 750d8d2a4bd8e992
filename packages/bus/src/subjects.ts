const PUBLISHABLE = /^[^\s.*>]+(?:\.[^\s.*>]+)*$/;
const SUBSCRIBABLE = /^(?:[^\s.*>]+|\*)(?:\.(?:[^\s.*>]+|\*))*(?:\.>)?$/;

/** A subject to publish on: tokens joined by dots, no wildcard, no white space. */
export function isPublishable(subject: string): boolean {
  return PUBLISHABLE.test(subject);
}

/** Throws `TypeError` unless `subject` may be subscribed to. */
export function assertSubscribable(subject: string): void {
  if (subject !== ">" && !SUBSCRIBABLE.test(subject)) throw new TypeError(`malformed subject: ${subject}`);
}

/** Whether `subject` falls under `pattern`, by the rules of NATS. */
export function subjectMatches(pattern: string, subject: string): boolean {
  if (pattern === subject) return true;
  const wanted = pattern.split(".");
  const tokens = subject.split(".");
  for (const [index, token] of wanted.entries()) {
    if (token === ">") return tokens.length > index;
    if (index >= tokens.length || (token !== "*" && token !== tokens[index])) return false;
  }
  return tokens.length === wanted.length;
}

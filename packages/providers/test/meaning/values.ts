/** A parsed JSON object. Own code, as all of this folder: what judges the translators shares nothing with them. */
export type Fields = Readonly<Record<string, unknown>>;

/** Numbers that a double can't hold keep their digits as text, so that lost ones are seen (BH-28). */
export function parse(json: string): unknown {
  const keep = (_name: string, value: unknown, context?: { readonly source?: string }): unknown =>
    typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)
      ? `number ${context?.source ?? value}`
      : value;
  return JSON.parse(json, keep);
}

/** The value as JSON, or the text itself where it is none. */
export function parseOrText(json: string): unknown {
  try {
    return parse(json);
  } catch {
    return json;
  }
}

export function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function count(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

/** Whether there is anything in it: some servers send every field that they know. */
export function isFilled(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).some(isFilled);
  return Boolean(value);
}

/** Whether the value stands somewhere in the other one. */
export function standsIn(value: unknown, whole: unknown): boolean {
  if (same(value, whole)) return true;
  if (typeof whole !== "object" || whole === null) return false;
  return Object.values(whole).some((inner) => standsIn(value, inner));
}

function same(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  const names = Object.keys(one);
  return (
    Array.isArray(one) === Array.isArray(other) &&
    names.length === Object.keys(other).length &&
    names.every((name) => name in other && same((one as Fields)[name], (other as Fields)[name]))
  );
}

/** `data` of a stream of server-sent events with its event's name, by the WHATWG's rules. */
export function sseEvents(stream: string): { readonly name: string; readonly data: string }[] {
  const events: { name: string; data: string }[] = [];
  let name = "";
  let data: string[] = [];
  for (const line of [...stream.replace(/^\uFEFF/u, "").split(/\r\n|\n|\r/u), ""]) {
    if (line === "") {
      if (data.length > 0) events.push({ name, data: data.join("\n") });
      name = "";
      data = [];
    } else if (!line.startsWith(":")) {
      const [, key, value = ""] = /^([^:]*)(?:: ?(.*))?$/su.exec(line) ?? [];
      if (key === "data") data.push(value);
      else if (key === "event") name = value;
    }
  }
  return events;
}

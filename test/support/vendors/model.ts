import { deepStrictEqual } from "node:assert";
import type { Answer, RecordedCall } from "@switchyard/testkit";
import { need, Refused, SIGNATURE } from "./vendor.ts";
import type { Asked, Mistake, Part, Said, SaidCall, Vendor } from "./vendor.ts";

/** What a caller tries; the name is what the user says, with `again` where thinking can't be given back. */
export type Feature = "chat" | "tools" | "structured" | "image" | "thinking" | "abort" | Mistake;

export const SYSTEM = "Be brief.";
export const TEXT = "Grüße, 🌍!";
export const THOUGHT = "hm, what is asked?";
export const LOOKUPS = "Two lookups.";
export const DONE_TEXT = "Sunny, at noon.";
export const SEEN_TEXT = "A dot.";
export const OBJECT = '{"city":"Oslo","n":7}';
export const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
export const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" }, n: { type: "number" } },
  required: ["city", "n"],
  additionalProperties: false,
} as const;

export const CALLS: readonly SaidCall[] = [
  { id: "call_1", name: "weather", args: '{"city":"Zürich","days":[1,2]}' },
  { id: "call_2", name: "time", args: "{}" },
];
/** What the tools give back, by their names. */
export const RESULTS: Readonly<Record<string, string>> = { weather: "sunny", time: "12:00" };
export const TOOL_SCHEMAS = {
  weather: {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "array", items: { type: "number" } } },
    required: ["city"],
  },
  time: { type: "object", properties: {} },
} as const;

/** The model behind a vendor's API: what it says depends on nothing but the conversation, which it checks. */
export function model(vendor: Vendor, call: RecordedCall): Answer {
  try {
    const said = think(vendor.read(call), vendor);
    return typeof said === "string" ? vendor.fail(said) : vendor.say(said, call);
  } catch (error) {
    if (error instanceof Refused) return vendor.fail("invalid_request", error.message);
    return vendor.fail("invalid_request", `the script failed: ${String(error)}`);
  }
}

function think(asked: Asked, vendor: Vendor): Said | Mistake {
  const [first] = asked.turns;
  const feature = first?.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).at(-1) ?? "";
  same(asked.system, SYSTEM, "system");
  switch (feature) {
    case "chat":
      same(asked.turns.length, 1, "turns");
      return { text: TEXT };
    case "structured":
      same(asked.schema, SCHEMA, "schema");
      return { text: OBJECT };
    case "image":
      same(first?.parts[0], { kind: "image", mediaType: "image/png", data: PNG }, "image");
      return { text: SEEN_TEXT };
    case "tools":
    case "thinking":
    case "thinking again":
      return useTools(asked, feature, vendor);
    case "abort":
      return { text: "one", hangs: true };
    case "rate_limited":
    case "overloaded":
    case "invalid_request":
    case "context_length":
      return feature;
    default:
      need(false, `nobody says '${feature}'`);
      return "invalid_request";
  }
}

function useTools(asked: Asked, feature: string, vendor: Vendor): Said {
  same([...asked.tools].toSorted(), ["time", "weather"], "tools");
  const thinks = feature !== "tools";
  const thought = thinks ? { thinking: THOUGHT } : {};
  const [, called, results, ...more] = asked.turns;
  if (called === undefined) {
    same(asked.thinks, thinks, "thinking");
    return { ...thought, text: LOOKUPS, calls: CALLS };
  }
  same(more.length, 0, "turns");
  same(
    called.parts.flatMap(callOf),
    CALLS.map(({ name, args }) => [name, JSON.parse(args)]),
    "calls",
  );
  same(texts(called.parts), [LOOKUPS], "text before the calls");
  same(
    results?.parts.flatMap((part) => (part.kind === "result" ? [part.text] : [])),
    [RESULTS["weather"], RESULTS["time"]],
    "results",
  );
  const signatures = called.parts.flatMap((part) => (part.kind === "thinking" ? [part.signature] : []));
  if (feature === "thinking" && vendor.signs) {
    same(signatures, [SIGNATURE], "signatures");
    same(asked.thinks, true, "thinking");
  }
  return { text: DONE_TEXT };
}

function callOf(part: Part): unknown[] {
  return part.kind === "call" ? [[part.name, part.args]] : [];
}

function texts(parts: readonly Part[]): string[] {
  return parts.flatMap((part) => (part.kind === "text" ? [part.text] : []));
}

function same(got: unknown, wanted: unknown, what: string): void {
  try {
    deepStrictEqual(structuredClone(got), structuredClone(wanted));
  } catch {
    throw new Refused(`${what}: got ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
  }
}

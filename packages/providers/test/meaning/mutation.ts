import * as fc from "fast-check";

/** Words of all the APIs, so that what is put in comes near to something that means something. */
const word = fc.constantFrom(
  ..."type text image image_url tool_use tool_result thinking function user assistant system tool auto any none".split(
    " ",
  ),
  ..."json_schema base64 url https://h/x data:image/png;base64,AA== {} [] null high stop tool_calls message".split(
    " ",
  ),
  ..."function_call reasoning input_text output_text STOP functionCall thought end_turn guardrail_intervened".split(
    " ",
  ),
  "",
);
const key = fc.oneof(
  word,
  fc.constantFrom(
    ..."role content name id input arguments source data media_type schema parts args delta index error".split(
      " ",
    ),
    ..."usage choices candidates output toolUse reasoningContent signature __proto__ constructor toString".split(
      " ",
    ),
  ),
);

/** Any JSON value, rather of the APIs' words. */
export const anyValue: fc.Arbitrary<unknown> = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small" },
    word,
    fc.constantFrom(null, true, false, 0, -1, 0.5, 1e308, Number.MAX_SAFE_INTEGER),
    fc.string({ unit: "binary", maxLength: 4 }),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.array(fc.tuple(key, tie("any")), { maxLength: 4 }).map((members) => Object.fromEntries(members)),
  ),
})).any;

/** One change somewhere in a JSON value. */
export interface Mutation {
  /** Which of its places, of all, the outermost first. */
  readonly place: number;
  readonly how: "replace" | "remove" | "double" | "rename";
  readonly value: unknown;
}

export const mutations: fc.Arbitrary<readonly Mutation[]> = fc.array(
  fc.record({
    place: fc.nat(10_000),
    how: fc.constantFrom("replace" as const, "remove" as const, "double" as const, "rename" as const),
    value: anyValue,
  }),
  { minLength: 1, maxLength: 3 },
);

/** The value as JSON, changed. */
export function mutated(value: unknown, changes: readonly Mutation[]): string {
  let whole = copyOf(value);
  for (const change of changes) {
    const places = placesOf({ whole });
    const { holder, name } = places[change.place % places.length] as Place;
    if (change.how === "replace" || name === "whole") holder[name] = copyOf(change.value);
    else if (change.how === "double" && Array.isArray(holder)) holder.push(holder[Number(name)]);
    else if (change.how === "rename" && typeof change.value === "string" && change.value !== "") {
      Object.defineProperty(holder, change.value, {
        value: holder[name],
        enumerable: true,
        configurable: true,
        writable: true,
      });
    } else if (Array.isArray(holder)) holder.splice(Number(name), 1);
    else delete holder[name];
    whole = (places[0] as Place).holder["whole"];
  }
  return JSON.stringify(whole) ?? "null";
}

/** One of its own: a later change may be inside of what an earlier one put in. */
function copyOf(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

interface Place {
  readonly holder: Record<string, unknown> & { push?: unknown };
  readonly name: string;
}

function placesOf(holder: object): Place[] {
  return Object.entries(holder).flatMap(([name, inner]) => [
    { holder: holder as Place["holder"], name },
    ...(typeof inner === "object" && inner !== null ? placesOf(inner as object) : []),
  ]);
}

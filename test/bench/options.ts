import { parseArgs } from "node:util";
import { LOADS } from "./wire/loads.ts";

export const VARIANT_NAMES = ["direct", "one-process", "four-processes", "nginx", "portkey"] as const;
export type VariantName = (typeof VARIANT_NAMES)[number];

/** Beside the loads: what one request costs with 1 and with 1,000 groups in the config. */
export const GROUPS_LOAD = "groups";

export interface Options {
  /** Where the rows go as JSON. */
  readonly json: string | undefined;
  readonly rounds: number;
  /** One load only; undefined is all of them, the groups and the decision. */
  readonly load: string | undefined;
  /** Always with `direct`, which the others are compared with. */
  readonly variants: readonly VariantName[];
}

const DEFAULT_ROUNDS = 5;
const MAX_ROUNDS = 100;

const USAGE =
  "usage: pnpm bench [--json FILE] [--rounds N] [--load NAME] [--variants A,B]; see test/bench/README.md";

/** Reads the command line; throws one clear line on a bad one. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: args.filter((argument, index) => index > 0 || argument !== "--"),
    options: {
      help: { type: "boolean" },
      json: { type: "string" },
      rounds: { type: "string" },
      load: { type: "string" },
      variants: { type: "string" },
    },
  });
  if (values.help === true) throw new Error(USAGE);
  const rounds = Number(values.rounds ?? DEFAULT_ROUNDS);
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > MAX_ROUNDS)
    throw new Error(`--rounds: a whole number from 1 to ${MAX_ROUNDS}, not ${values.rounds}`);
  const loads = [...LOADS.map((load) => load.name), GROUPS_LOAD];
  if (values.load !== undefined && !loads.includes(values.load))
    throw new Error(`--load: one of ${loads.join(", ")}, not ${values.load}`);
  return { json: values.json, rounds, load: values.load, variants: variantsOf(values.variants) };
}

function variantsOf(text: string | undefined): readonly VariantName[] {
  if (text === undefined) return VARIANT_NAMES;
  const wanted = new Set(["direct", ...text.split(",")]);
  const chosen = VARIANT_NAMES.filter((name) => wanted.delete(name));
  const [unknown] = wanted;
  if (unknown !== undefined)
    throw new Error(`--variants: some of ${VARIANT_NAMES.join(", ")}, not ${unknown}`);
  return chosen;
}

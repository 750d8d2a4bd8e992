import { isJsonObject, type Json, type JsonObject, printJson } from "../../json/lossless.ts";

type Step = string | number;
/** Without a prototype, so that no name in it means anything. */
type Members = Record<string, unknown>;

/** `.name`, `[0]`, `['name']` or `["name"]`. */
const STEP = /\.([^.[\]]+)|\[(\d+)\]|\[(?:'([^']*)'|"([^"]*)")\]/uy;
/** Deeper than any schema of arguments; what lies beyond is not told. */
const MAX_STEPS = 32;

/** Puts together arguments that a stream tells piece by piece, each with the place that it belongs to. Strings grow. */
export class PartialArgs {
  readonly #root: Members = members();

  /** Takes one of `partialArgs`. What names no place is left out. */
  take(piece: JsonObject): void {
    const path = piece["jsonPath"];
    const steps = typeof path === "string" ? readSteps(path) : [];
    const [value] = ["stringValue", "numberValue", "boolValue", "nullValue"].flatMap((key) => {
      const said = piece[key];
      if (said === undefined) return [];
      return [key === "nullValue" ? null : said];
    });
    const last = steps.pop();
    if (last === undefined || value === undefined) return;
    let holder: object = this.#root;
    for (const [place, step] of steps.entries()) {
      holder = childOf(holder, step, typeof (steps[place + 1] ?? last) === "number");
    }
    const before = read(holder, last);
    write(holder, last, typeof before === "string" && typeof value === "string" ? before + value : value);
  }

  /** The arguments so far, as JSON. */
  print(): string {
    return printJson(this.#root as JsonObject);
  }
}

function readSteps(path: string): Step[] {
  const steps: Step[] = [];
  STEP.lastIndex = path.startsWith("$") ? 1 : 0;
  const text = path.startsWith("$") || path.startsWith("[") ? path : `.${path}`;
  while (STEP.lastIndex < text.length) {
    const found = STEP.exec(text);
    if (found === null || steps.length === MAX_STEPS) return [];
    const [, name, index, quoted, doubled] = found;
    steps.push(index === undefined ? (name ?? quoted ?? doubled ?? "") : Number(index));
  }
  return steps;
}

function childOf(holder: object, step: Step, isList: boolean): object {
  const found = read(holder, step);
  if (typeof found === "object" && found !== null) return found;
  const made = isList ? [] : members();
  write(holder, step, made);
  return made;
}

function read(holder: object, step: Step): unknown {
  if (Array.isArray(holder)) return typeof step === "number" ? (holder[step] as unknown) : undefined;
  return (holder as Members)[String(step)];
}

/** A list grows one by one: a place far beyond its end would be a mistake, and a large one. */
function write(holder: object, step: Step, value: unknown): void {
  if (!Array.isArray(holder)) (holder as Members)[String(step)] = value;
  else if (typeof step === "number" && step <= holder.length) holder[step] = value;
}

function members(): Members {
  return Object.create(null) as Members;
}

/** Whether a part of a call says that more of it follows. */
export function continues(call: JsonObject): boolean {
  return call["willContinue"] === true;
}

/** The pieces that a part of a call holds. */
export function piecesOf(call: JsonObject): JsonObject[] {
  const pieces: Json | undefined = call["partialArgs"];
  return Array.isArray(pieces) ? (pieces as readonly Json[]).filter(isJsonObject) : [];
}

import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type CallerDialect, LOSSES } from "./losses.ts";
import type { Meaning, Piece, Said, Usage } from "./meaning.ts";
import { pairs, readGolden, readRecorded } from "./recorded.ts";
import { standsIn } from "./values.ts";

const { pairs: PAIRS, missing } = pairs();
const ANSWERS = PAIRS.filter(({ status }) => status === 200);

describe("what a caller reads is what the provider said", () => {
  it("P2: every recorded answer has its golden file in each dialect it can be asked in", () => {
    expect(missing).toEqual([]);
  });

  it("its readers share no code with the translators", () => {
    const folder = new URL("./", import.meta.url);
    const readers = readdirSync(folder).filter((name) =>
      /(?:-readers?|grammar|envelope|losses|meaning|values|rules)\.ts$/u.test(name),
    );
    expect(readers.length).toBeGreaterThan(10);
    const sharing = readers.filter((name) =>
      /"[^"]*\/src\/|@switchyard/u.test(readFileSync(new URL(name, folder), "utf8")),
    );
    expect(sharing).toEqual([]);
  });

  it.each(ANSWERS)("P2: $name in $dialect says the same", (pair) => {
    const recorded = readRecorded(pair.recorded);
    const golden = readGolden(pair);
    const said = recorded.said.map((one) => LOSSES[pair.dialect].reduce((told, { tell }) => tell(told), one));
    const asked = pair.dialect === "chat" ? said : said.slice(0, 1);
    expect(shown(golden.said, pair.verdict)).toEqual(
      asked.map(withoutExtras).map((one, at) => likened(one, golden.said[at])),
    );
    for (const [at, { extras }] of asked.entries()) {
      const untold = extras.filter((extra) => !standsIn(extra, golden.said[at]?.extras));
      expect(untold).toEqual([]);
    }
    expect(golden.model).toBe(recorded.model ?? "m");
    // A stream that was cut tells no usage.
    if (pair.verdict !== "cut") expect(golden.usage).toEqual(recorded.usage ?? countless(pair.dialect));
  });

  it.each(ANSWERS)("BH-19: $name in $dialect gives each call an id of its own", (pair) => {
    for (const { pieces } of readGolden(pair).said) {
      const ids = pieces.flatMap((piece) => (piece.kind === "call" ? [piece.id] : []));
      expect(ids).not.toContain(undefined);
      expect(new Set(ids).size).toBe(ids.length);
    }
  });
});

type Shown = Omit<Said, "extras">;

function withoutExtras({ pieces, finish, stopSequence, explanation }: Said): Shown {
  return { pieces, finish, stopSequence, explanation };
}

function shown(said: Meaning["said"], verdict: string | undefined): Shown[] {
  return said.map((one) => {
    const seen = { ...withoutExtras(one), pieces: one.pieces.map(unmarked) };
    return verdict === "cut" ? { ...seen, finish: "cut" as const } : seen;
  });
}

/** Switchyard marks Google's signatures where a dialect does not say whose they are. */
function unmarked(piece: Piece): Piece {
  return piece.kind === "signature"
    ? { ...piece, data: piece.data.replace(/^google-gemini-v1:/u, "") }
    : piece;
}

/** Where the provider gave a call no id, any will do. */
function likened(said: Shown, golden: Said | undefined): Shown {
  const pieces = said.pieces.map((piece, at) => {
    const told = golden?.pieces[at];
    return piece.kind === "call" && piece.id === undefined && told?.kind === "call"
      ? { ...piece, id: told.id }
      : piece;
  });
  return { ...said, pieces };
}

/** A message must have its usage. */
function countless(dialect: CallerDialect): Usage | undefined {
  return dialect === "messages"
    ? { input: 0, output: 0, cached: 0, cacheWritten: 0, reasoning: 0 }
    : undefined;
}

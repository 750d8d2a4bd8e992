import { describe, expect, it } from "vitest";
import { grammarFaults } from "./grammar.ts";
import type { Piece } from "./meaning.ts";
import { pairs } from "./recorded.ts";
import { addUp, readResponse } from "./responses-reader.ts";
import { fields, list, parse, sseEvents } from "./values.ts";

const STREAMS = pairs().pairs.filter(({ stream }) => stream);
const RESPONSES = STREAMS.filter(({ dialect, verdict }) => dialect === "responses" && verdict === "complete");

describe("golden streams follow their dialect", () => {
  it.each(STREAMS)("P4: $name in $dialect", ({ dialect, golden, verdict }) => {
    expect(grammarFaults(dialect, golden, verdict !== "complete")).toEqual([]);
  });

  it.each(RESPONSES)("BH-32: $name, the final object is what the deltas add up to", ({ golden }) => {
    const events = sseEvents(golden).map(({ data }) => fields(parse(data)));
    const output = list(fields(events.at(-1)?.["response"])["output"]);
    const said = (items: readonly unknown[]): Piece[] =>
      readResponse(JSON.stringify({ status: "completed", output: items })).said[0]?.pieces.slice() ?? [];
    expect(said(addUp(events))).toEqual(said(output));
  });
});

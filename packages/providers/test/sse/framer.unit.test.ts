import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_EVENT_BYTES, SseFramer } from "../../src/sse/framer.ts";
import { bytesOf, concat, cutAt, cuts, textOf } from "../support/bytes.ts";

interface Seen {
  readonly name: string;
  readonly data: string | undefined;
  readonly raw: Uint8Array;
}

function frame(chunks: readonly Uint8Array[], finish = true): Seen[] {
  const seen: Seen[] = [];
  const framer = new SseFramer((event) => {
    const { bytes, start, end, dataLines } = event;
    const single = bytes.subarray(event.dataStart, event.dataEnd);
    seen.push({
      name: textOf(bytes.subarray(event.nameStart, event.nameEnd)),
      data: dataLines === 0 ? undefined : textOf(dataLines === 1 ? single : event.joinedData()),
      raw: Uint8Array.from(bytes.subarray(start, end)),
    });
  });
  for (const chunk of chunks) {
    framer.push(chunk);
    // A socket's buffer is used again.
    chunk.fill(0x3f);
  }
  if (finish) framer.finish();
  return seen;
}

const dataOf = (seen: readonly Seen[]): [string, string][] =>
  seen.filter(({ data }) => data !== undefined).map(({ name, data }) => [name, data as string]);

/** The standard's own algorithm, on text. */
function reference(text: string): [string, string][] {
  const events: [string, string][] = [];
  let name = "";
  let data: string[] = [];
  const ended = text
    .replace(/^\ufeff/, "")
    .split(/\r\n|\r|\n/)
    .slice(0, -1);
  for (const line of ended) {
    if (line === "") {
      if (data.length > 0) events.push([name, data.join("\n")]);
      name = "";
      data = [];
      continue;
    }
    const [, field, value] = /^([^:]*):? ?(.*)$/su.exec(line) ?? [];
    if (field === "data") data.push(value ?? "");
    if (field === "event") name = value ?? "";
  }
  return events;
}

const line = fc.oneof(
  fc.constantFrom(
    "data: {}",
    "data:x",
    "data",
    "data:",
    "data:  two",
    "datax: no",
    ": comment",
    ":",
    "event: error",
    "event:e",
  ),
  fc.constantFrom(
    "id: 1",
    "retry: 5",
    "data: 你好 🌍",
    "d",
    "e",
    "event",
    "data : no",
    " data: no",
    "",
    "",
    "",
  ),
);
const stream = fc
  .tuple(
    fc.constantFrom("", "\ufeff"),
    fc.array(fc.tuple(line, fc.constantFrom("\n", "\r\n", "\r")), { maxLength: 20 }),
  )
  .map(([mark, lines]) => mark + lines.map(([text, end]) => text + end).join(""));

describe("SseFramer", () => {
  it("P4: finds the events that the standard finds, cut anywhere, in the bytes that came", () => {
    fc.assert(
      fc.property(stream, cuts, (text, places) => {
        const bytes = bytesOf(text);
        const seen = frame(cutAt(bytes, places), false);
        expect(dataOf(seen)).toStrictEqual(reference(text));
        const passed = concat(seen.map(({ raw }) => raw));
        expect(passed).toStrictEqual(bytes.subarray(0, passed.length));
      }),
      { numRuns: 2000 },
    );
  });

  it("P4: one byte at a time is no different", () => {
    fc.assert(
      fc.property(stream, (text) => {
        const bytes = bytesOf(text);
        const everywhere = [...bytes.keys()];
        expect(dataOf(frame(cutAt(bytes, everywhere), false))).toStrictEqual(reference(text));
      }),
    );
  });

  it("P4: a missing final blank line is put there", () => {
    for (const end of ["", "\n", "\r", "\r\n"]) {
      const seen = frame([bytesOf(`data: a\n\ndata: b${end}`)]);
      expect(dataOf(seen)).toStrictEqual([
        ["", "a"],
        ["", "b"],
      ]);
      expect(reference(textOf(concat(seen.map(({ raw }) => raw))))).toStrictEqual([
        ["", "a"],
        ["", "b"],
      ]);
    }
  });

  it("BH-14: hands an event over when the CR of its blank line is there, and takes the LF later", () => {
    const framer: string[] = [];
    const sut = new SseFramer(({ bytes, start, end }) => framer.push(textOf(bytes.subarray(start, end))));
    sut.push(bytesOf("data:x\r\n\r"));
    expect(framer).toStrictEqual(["data:x\r\n\r"]);
    sut.push(bytesOf("\ndata:y\r\n\r\n"));
    expect(framer).toStrictEqual(["data:x\r\n\r", "\n", "data:y\r\n\r\n"]);
  });

  it("hands over whole events in place", () => {
    const chunk = bytesOf("data: a\n\ndata: b\n\n");
    let count = 0;
    new SseFramer(({ bytes }) => {
      count++;
      expect(bytes).toBe(chunk);
    }).push(chunk);
    expect(count).toBe(2);
  });

  it("gives an event up that outgrows its bound", () => {
    let count = 0;
    const framer = new SseFramer(() => count++);
    const piece = new Uint8Array(MAX_EVENT_BYTES / 4).fill(0x61);
    const taken = [1, 2, 3, 4, 5].map(() => framer.push(piece));
    expect(taken).toStrictEqual([true, true, true, true, false]);
    expect(framer.push(bytesOf("\n\n"))).toBe(false);
    framer.finish();
    expect(count).toBe(0);
  });
});

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SILENT, type LogFields, type Logger } from "@switchyard/telemetry";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CommandError } from "../src/exit.ts";
import { DecisionLogFile } from "../src/node/decision-log-file.ts";
import { readLines, sizeOf } from "../src/commands/read-lines.ts";

let folder: string;
let path: string;
let warnings: [string, LogFields | undefined][];
const logger: Logger = { ...SILENT, warn: (message, fields) => void warnings.push([message, fields]) };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "switchyard-log-"));
  path = join(folder, "decisions.ndjson");
  warnings = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const LINE = '{"kind":"dropped","lines":0}';
const linesOf = (): string[] => readFileSync(path, "utf8").split("\n").slice(0, -1);

describe("a decision log's file", () => {
  it("holds one line each, and goes on where it was", async () => {
    for (const line of [LINE, LINE]) {
      const log = new DecisionLogFile(path, logger);
      log.write(line);
      await log.close();
      log.write("after its end");
    }
    expect(linesOf()).toEqual([LINE, LINE]);
    expect(warnings).toEqual([]);
  });

  it("drops what does not fit in memory, and says how much there", async () => {
    const log = new DecisionLogFile(path, logger, { waitingBytes: 3 * (LINE.length + 1), fileBytes: 10_000 });
    // Nothing is written before this turn ends.
    for (let count = 0; count < 10; count += 1) log.write(LINE);
    await log.close();
    expect(linesOf()).toEqual([LINE, LINE, LINE, '{"kind":"dropped","lines":7}']);
    expect(warnings).toEqual([[expect.stringContaining("dropped") as string, { lines: 7 }]]);
  });

  it("stops at its size, and says so once", async () => {
    const log = new DecisionLogFile(path, logger, { waitingBytes: 10_000, fileBytes: 2 * LINE.length + 5 });
    for (let count = 0; count < 5; count += 1) log.write(LINE);
    await log.close();
    expect(linesOf()).toEqual([LINE, LINE]);
    expect(warnings.map(([message]) => message)).toEqual([expect.stringContaining("is full")]);
  });

  it("cuts off half a line of its own, and touches no other file", async () => {
    writeFileSync(path, `${LINE}\n{"kind":"deci`);
    const log = new DecisionLogFile(path, logger);
    log.write(LINE);
    await log.close();
    expect(linesOf()).toEqual([LINE, LINE]);
    writeFileSync(path, "a letter");
    expect(() => new DecisionLogFile(path, logger)).toThrow("is no decision log");
    expect(() => new DecisionLogFile(join(folder, "none", "x"), logger)).toThrow(CommandError);
    expect(readFileSync(path, "utf8")).toBe("a letter");
  });
});

describe("lines of a file", () => {
  it("come numbered, over chunks, as far as was asked, and the last one may be torn", async () => {
    const long = "x".repeat(200_000);
    writeFileSync(path, `a\n\n${long}\nend`);
    const size = await sizeOf(path);
    const read = async (upTo: number) => {
      const lines: [number, number, boolean][] = [];
      for await (const { number, text, torn } of readLines(path, upTo))
        lines.push([number, text.length, torn]);
      return lines;
    };
    expect(await read(size)).toEqual([
      [1, 1, false],
      [3, 200_000, false],
      [4, 3, true],
    ]);
    expect(await read(2)).toEqual([[1, 1, false]]);
    expect(await read(0)).toEqual([]);
    await expect(sizeOf(join(folder, "none"))).rejects.toThrow("cannot be read");
  });
});

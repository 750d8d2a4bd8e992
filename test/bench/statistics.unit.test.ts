import { describe, expect, it } from "vitest";
import { parseCpuList } from "./measure/cores.ts";
import { type CellResult, type RoundResult, type Row, toRows } from "./measure/rows.ts";
import { cpuUsPerRequest, median, percentile } from "./measure/statistics.ts";
import { parseOptions } from "./options.ts";
import { goalsTable } from "./report/goals.ts";
import { figure, ratio, signed, table } from "./report/table.ts";
import { ratioTable } from "./report/tables.ts";
import { answerBytes, LOADS, loadNamed } from "./wire/loads.ts";
import { MessageReader } from "./wire/message-reader.ts";

describe("statistics", () => {
  it("takes percentiles by nearest rank", () => {
    const values = Array.from({ length: 200 }, (_, index) => index + 1);
    expect([50, 99, 100].map((percent) => percentile(values, percent))).toEqual([100, 198, 200]);
    expect(percentile([7], 99)).toBe(7);
    expect(percentile([], 50)).toBeNaN();
  });

  it("takes medians of unsorted values", () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([9, 1, 5, 3])).toBe(4);
    expect(median([])).toBeNaN();
  });

  it("pools CPU over the rounds when one is too short for the kernel's tick", () => {
    const long = [800, 900, 1_000].map((cpuMs) => ({ cpuMs, requests: 10_000 }));
    expect(cpuUsPerRequest(long)).toBe(90);
    expect(
      cpuUsPerRequest([
        { cpuMs: 10, requests: 4 },
        { cpuMs: 0, requests: 4 },
      ]),
    ).toBe(1_250);
    expect(cpuUsPerRequest([])).toBeNaN();
  });

  it("reads lists of cores", () => {
    expect(parseCpuList("0-2,5\n")).toEqual([0, 1, 2, 5]);
  });
});

function round(p50Us: number, ttftUs?: number): RoundResult {
  const report = {
    requests: 100,
    errors: 0,
    firstError: undefined,
    elapsedMs: 1_000,
    p50Us,
    p99Us: p50Us * 2,
    ttftUs,
  };
  return { report, cpuMs: 600, rssMb: 50 };
}

describe("rows", () => {
  const cell = (variant: string, rounds: RoundResult[]): CellResult => ({
    variant,
    load: "chat-1k",
    connections: 1,
    rounds,
  });

  it("hold medians, times as added to direct", () => {
    const rows = toRows([
      cell("direct", [round(10), round(30), round(20)]),
      cell("nginx", [round(70), round(90), round(80)]),
      cell("portkey", []),
    ]);
    expect(rows.map((row) => row.variant)).toEqual(["direct", "nginx"]);
    expect(rows[0]).toMatchObject({ p50_us: 0, p99_us: 0, p50_abs_us: 20 });
    expect(rows[1]).toEqual({
      variant: "nginx",
      load: "chat-1k",
      connections: 1,
      cpu_us: 6_000,
      p50_us: 60,
      p99_us: 120,
      rps: 100,
      ttft_us: null,
      rss_mb: 50,
      p50_abs_us: 80,
      p99_abs_us: 160,
      ttft_abs_us: null,
      core_share: 0.6,
      requests: 300,
    });
  });

  it("add the time to first token of streams", () => {
    const rows = toRows([cell("direct", [round(10, 100)]), cell("nginx", [round(20, 250)])]);
    expect(rows.map((row) => row.ttft_us)).toEqual([0, 150]);
  });
});

describe("tables", () => {
  const row = (variant: string, load: string, connections: number, numbers: Partial<Row>): Row => ({
    variant,
    load,
    connections,
    cpu_us: null,
    p50_us: null,
    p99_us: null,
    rps: null,
    ttft_us: null,
    rss_mb: null,
    p50_abs_us: null,
    p99_abs_us: null,
    ttft_abs_us: null,
    core_share: null,
    requests: 0,
    ...numbers,
  });

  it("align words left and figures right", () => {
    expect(table(["load", "variant", "cpu"], [["chat", "nginx", "7"]]).split("\n")).toEqual([
      "load  variant  cpu",
      "----  -------  ---",
      "chat  nginx      7",
    ]);
  });

  it("write figures shortly", () => {
    expect([12_345.6, 1.2345, 0, null, Number.NaN].map(figure)).toEqual(["12,346", "1.23", "0", "-", "-"]);
    expect([5, -5, null].map(signed)).toEqual(["+ 5", "− 5", "-"]);
  });

  it("give no ratio where it says nothing", () => {
    expect(ratio(2, 4)).toBe(0.5);
    expect(ratio(-2, 4)).toBe(0);
    expect(ratio(2, 0)).toBeUndefined();
    expect(ratio(null, 4)).toBeUndefined();
  });

  it("set every variant against portkey and nginx", () => {
    const rows = [
      row("direct", "chat-1k", 1, {}),
      row("one-process", "chat-1k", 1, { cpu_us: 100 }),
      row("nginx", "chat-1k", 1, { cpu_us: 50 }),
      row("portkey", "chat-1k", 1, { cpu_us: 1_000 }),
    ];
    expect(ratioTable(rows).split("\n")[2]).toMatch(/^chat-1k +one-process +1 +0\.1 +2 +-/);
    expect(ratioTable(rows.slice(0, 2))).toBe("");
  });

  it("judge the goals that were measured, and only those", () => {
    const rows = [
      row("one-process", "chat-1k", 32, { cpu_us: 150, rps: 3_000, core_share: 0.5 }),
      row("portkey", "chat-1k", 32, { cpu_us: 1_000, rps: 1_000, core_share: 1 }),
    ];
    const lines = goalsTable({ rows, decisionUs: 6 }).split("\n").slice(2);
    expect(lines.map((line) => line.replaceAll(/ {2,}/g, "  "))).toEqual([
      "CPU per request, 1 KB  one-process  0.15 P  ≤ 0.2 P met  ≤ 0.12 P missed  ≤ 0.03 P missed",
      "throughput, 1 KB, per core  one-process  6 P  ≥ 5 P met  ≥ 8 P missed  ≥ 35 P missed",
      "one decision, 32 candidates  one-process  6 µs  ≤ 20 µs met  ≤ 5 µs missed  ≤ 1 µs missed",
    ]);
  });
});

describe("options", () => {
  it("take everything by default, and always direct", () => {
    expect(parseOptions([])).toMatchObject({ json: undefined, load: undefined });
    expect(parseOptions(["--", "--variants", "nginx", "--rounds", "2", "--json", "f"])).toEqual({
      json: "f",
      rounds: 2,
      load: undefined,
      variants: ["direct", "nginx"],
    });
  });

  it.each([
    [["--rounds", "0"], "--rounds"],
    [["--load", "chat"], "--load"],
    [["--variants", "envoy"], "--variants"],
  ])("refuse %j", (args, words) => {
    expect(() => parseOptions(args)).toThrow(words);
  });
});

describe("loads", () => {
  it("have the sizes they are named for, and are valid JSON", () => {
    expect(loadNamed("chat-1k").requestBody).toHaveLength(1_024);
    expect(loadNamed("prompt-200k").requestBody).toHaveLength(200 * 1_024);
    expect(answerBytes(loadNamed("chat-1k"))).toBe(600);
    expect(loadNamed("stream-100").answer).toHaveLength(100);
    for (const load of LOADS) {
      const request = JSON.parse(load.requestBody.toString()) as { stream?: boolean };
      expect(request.stream ?? false).toBe(load.stream);
      for (const part of load.answer) {
        const text = part.toString().split("\n\n")[0] ?? "";
        expect(() => JSON.parse(text.replace(/^data: /, "")) as unknown).not.toThrow();
      }
    }
  });
});

describe("MessageReader", () => {
  const wire =
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" +
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=1\r\n0123456789\r\n0\r\nt: 1\r\n\r\n" +
    "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";

  it.each([1, 2, 3, 7, 50, wire.length])("finds the ends of messages cut every %i bytes", (size) => {
    const seen: (string | number)[] = [];
    const reader = new MessageReader({
      onHead: (head) => seen.push(head.slice(9, 12)),
      onEnd: (bytes) => seen.push(bytes),
    });
    for (let at = 0; at < wire.length; at += size) reader.push(Buffer.from(wire.slice(at, at + size)));
    expect(seen).toEqual(["200", 5, "200", 13, "400", 0]);
    expect(reader.idle).toBe(true);
  });
});

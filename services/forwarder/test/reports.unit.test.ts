import { fromBinary } from "@bufbuild/protobuf";
import { decodeConfig } from "@switchyard/config";
import type { Outcome } from "@switchyard/core";
import { ProviderReadinessSchema } from "@switchyard/proto/events/v1/events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Accounts } from "../src/accounts.ts";
import { OutcomeReporter } from "../src/report/outcome-reporter.ts";
import { FakeLogger, Published } from "./fakes.ts";

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"],
    now: 1_700_000_000_000,
  });
});
afterEach(() => {
  vi.useRealTimers();
});

let count = 0;
function outcome(error: Outcome["error"], more: Partial<Outcome> = {}): Outcome {
  count += 1;
  return {
    decision: `o${count}`,
    group: "default/g",
    deployment: "a/m",
    error,
    status: undefined,
    retryAfterMs: undefined,
    decidedAt: Date.now(),
    at: Date.now(),
    probe: false,
    ownKey: false,
    ...more,
  };
}

function start() {
  const published = new Published();
  const reporter = new OutcomeReporter({ bus: published.bus, name: "f1", now: () => Date.now() });
  return { published, reporter };
}

describe("OutcomeReporter", () => {
  it("tells failures at once and successes together every 100 ms", () => {
    const { published, reporter } = start();
    reporter.report(outcome(undefined));
    reporter.report(outcome(undefined));
    reporter.report(outcome("server_error"));
    expect(published.outcomes).toEqual(["a/m=server_error"]);
    vi.advanceTimersByTime(100);
    expect(published.outcomes).toEqual(["a/m=server_error", "a/m=ok", "a/m=ok"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("B4: tells a probe's success at once", () => {
    const { published, reporter } = start();
    reporter.report(outcome(undefined, { probe: true }));
    expect(published.outcomes).toEqual(["a/m=ok"]);
  });

  it("B6: recent failures ride along with decisions, for a while and up to a bound", () => {
    const { reporter } = start();
    expect(reporter.recent()).toEqual([]);
    for (let made = 0; made < 40; made += 1) reporter.report(outcome("server_error"));
    expect(reporter.recent()).toHaveLength(16);
    vi.advanceTimersByTime(10_001);
    expect(reporter.recent()).toEqual([]);
  });

  it("B6: departures and callers' mistakes do not push out what matters", () => {
    const { reporter } = start();
    reporter.report(outcome("server_error"));
    for (let made = 0; made < 40; made += 1) reporter.report(outcome("cancelled"));
    reporter.report(outcome("invalid_request"));
    reporter.report(outcome("auth", { ownKey: true }));
    expect(reporter.recent()).toHaveLength(1);
  });

  it("after its close tells at once, and leaves no timer", () => {
    const { published, reporter } = start();
    reporter.report(outcome(undefined));
    reporter.close();
    reporter.report(outcome(undefined));
    expect(published.outcomes).toHaveLength(2);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("Accounts", () => {
  function accounts(secrets: Record<string, string>) {
    const published = new Published();
    const logger = new FakeLogger();
    const told: string[][] = [];
    published.bus.publish = (_subject, payload) => {
      const { notReady, leaving } = fromBinary(ProviderReadinessSchema, payload);
      told.push(leaving ? ["leaving"] : notReady);
    };
    const made = new Accounts({
      bus: published.bus,
      name: "f1",
      secrets: { env: (name) => secrets[name], file: () => undefined },
      logger,
    });
    const { config } = decodeConfig(`
providers:
  - { name: A, family: openai, credential: { env: KEY_A } }
  - { name: b, family: openai_compatible, base_url: "http://127.0.0.1:1", credential: { none: true } }
`);
    if (config !== undefined) made.use(config);
    return { made, logger, told };
  }

  it("R10: says once which variable is missing, tells routers, and notices when it is there", () => {
    const secrets: Record<string, string> = {};
    const { made, logger, told } = accounts(secrets);
    expect(made.find("a")).toBeUndefined();
    expect(made.find("b")?.secret).toBeUndefined();
    expect(made.findFor("a", "own")?.secret).toBe("own");
    vi.advanceTimersByTime(10_000);
    expect(logger.lines.map(({ level, fields }) => [level, fields["provider"], fields["missing"]])).toEqual([
      ["warn", "a", expect.stringContaining("KEY_A")],
    ]);
    secrets["KEY_A"] = "sk-secret";
    vi.advanceTimersByTime(5_000);
    expect(made.find("a")?.secret).toBe("sk-secret");
    expect(told).toEqual([["a"], ["a"], ["a"], []]);
    expect(JSON.stringify(logger.lines)).not.toContain("sk-secret");
    made.close();
    expect(told.at(-1)).toEqual(["leaving"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each(["sk-1\nsk-2-secret", "sk-\u2603-secret", "sk-secret\u0000"])(
    "R10: a secret that no header can carry is not there, and nobody's requests are at fault: %j",
    (secret) => {
      const { made, logger, told } = accounts({ KEY_A: secret });
      expect(made.find("a")).toBeUndefined();
      expect(told.at(-1)).toEqual(["a"]);
      expect(logger.lines[0]?.fields["missing"]).toMatch(/KEY_A.*fits no header/u);
      expect(JSON.stringify(logger.lines)).not.toContain('secret"');
      made.close();
    },
  );
});

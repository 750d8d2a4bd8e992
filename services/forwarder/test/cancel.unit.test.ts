import { readFailure } from "@switchyard/rpc";
import { afterEach, describe, expect, it, vi } from "vitest";
import { attempt } from "./fakes.ts";
import type { Script } from "./fakes.ts";
import { createStage, DONE, FINISH, OK, ROLE, token } from "./stage.ts";
import type { Stage } from "./stage.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** What of the attempt must have been told when the caller leaves. */
interface Moment {
  readonly name: string;
  readonly scripts: readonly Script[];
  readonly go: (stage: Stage) => void;
  readonly outcomes: readonly string[];
}

const A = attempt("a/m");
const MOMENTS: readonly Moment[] = [
  {
    name: "before the router has answered",
    scripts: [() => new Promise((resolve) => setTimeout(() => resolve(A({} as never) as never), 50))],
    go: (stage) => stage.ask(),
    outcomes: [],
  },
  {
    name: "in the wait before an attempt",
    scripts: [attempt("a/m", { delayMs: 100n })],
    go: (stage) => stage.ask(),
    outcomes: [],
  },
  { name: "before the head", scripts: [A], go: (stage) => stage.ask(), outcomes: ["a/m=cancelled"] },
  {
    name: "while an answer comes",
    scripts: [A],
    go: (stage) => {
      stage.ask();
      stage.upstream.at(0).head(200).data("{");
    },
    outcomes: ["a/m=cancelled"],
  },
  {
    name: "while an error comes",
    scripts: [A],
    go: (stage) => {
      stage.ask();
      stage.upstream.at(0).head(500).data("{");
    },
    outcomes: ["a/m=cancelled"],
  },
  {
    name: "while the gate holds",
    scripts: [attempt("a/m", { firstTokenTimeoutMs: 60_000n })],
    go: (stage) => {
      stage.ask({ stream: true });
      stage.upstream.at(0).stream().data(ROLE);
    },
    outcomes: ["a/m=cancelled"],
  },
  {
    name: "while a stream runs",
    scripts: [A],
    go: (stage) => {
      stage.ask({ stream: true });
      stage.upstream.at(0).stream().data(token("x"));
    },
    outcomes: ["a/m=cancelled"],
  },
  {
    name: "while the next decision is made",
    scripts: [A, () => new Promise((resolve) => setTimeout(() => resolve(A({} as never) as never), 50))],
    go: (stage) => {
      stage.ask();
      stage.upstream.at(0).answer(500, "{}");
    },
    outcomes: ["a/m=server_error"],
  },
  {
    name: "after the end",
    scripts: [A],
    go: (stage) => {
      stage.ask({ stream: true });
      stage.upstream
        .at(0)
        .stream()
        .data(token("x") + FINISH + DONE)
        .end();
    },
    outcomes: ["a/m=ok"],
  },
];

describe("a caller that leaves", () => {
  it.each(MOMENTS)("invariant 3: $name", async ({ scripts, go, outcomes }) => {
    const stage = createStage(...scripts);
    go(stage);
    const ended = stage.sink.over;
    stage.call.cancel();
    expect(stage.sink.over).toBe(true);
    if (!ended) expect(readFailure(stage.sink.failed)).toMatchObject({ status: 499, code: "client_closed" });
    const calls = stage.upstream.exchanges.length;
    for (const exchange of stage.upstream.exchanges) expect(exchange.over).toBe(true);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(stage.upstream.exchanges).toHaveLength(calls);
    expect(stage.sink.late).toBe(0);
    expect(stage.logger.of("request")).toHaveLength(1);
    await stage.close();
    expect(stage.published.outcomes).toEqual(outcomes);
    for (const count of await stage.inFlight()) expect(count).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("leaves before it asks: nothing is done", () => {
    const stage = createStage(A);
    stage.call.cancel();
    stage.ask();
    expect(stage.decides).toHaveLength(0);
    expect(readFailure(stage.sink.failed).status).toBe(499);
  });

  it.each(["head", "chunk", "trailer"])("invariant 3: within the call that takes its %s", async (part) => {
    const stage = createStage(A);
    const send = stage.sink.send.bind(stage.sink);
    vi.spyOn(stage.sink, "send").mockImplementation((message) => {
      const room = send(message);
      if (message.part.case === part) stage.call.cancel();
      return room;
    });
    stage.ask();
    stage.upstream.at(0).answer(200, OK);
    await stage.close();
    expect(stage.published.outcomes).toHaveLength(1);
    expect(stage.logger.of("request")).toHaveLength(1);
    expect(await stage.inFlight()).toEqual([0]);
  });
});

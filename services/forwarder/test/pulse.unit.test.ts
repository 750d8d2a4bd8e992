import { afterEach, describe, expect, it, vi } from "vitest";
import { attempt } from "./fakes.ts";
import { createStage, DONE, FINISH, ROLE, token } from "./stage.ts";
import type { Stage } from "./stage.ts";

afterEach(() => {
  vi.useRealTimers();
});

const A = attempt("a/m");
const SECOND = 1_000;
const MESSAGES = "/v1/messages";
const PING = 'event: ping\ndata: {"type":"ping"}\n\n';
const messagesBody = JSON.stringify({
  model: "g",
  max_tokens: 9,
  stream: true,
  messages: [{ role: "user", content: "hi" }],
});

function pingsIn(stage: Stage, ping = PING): number {
  return stage.sink.body.split(ping).length - 1;
}

/** A messages caller whose stream is told from chat's; committed. */
function translated(): Stage {
  const stage = createStage(A);
  stage.ask({ path: MESSAGES, body: messagesBody });
  stage.upstream
    .at(0)
    .stream()
    .data(ROLE + token("hi"));
  return stage;
}

describe("a translated stream whose provider falls silent", () => {
  it("field 5.7: says in the caller's dialect that it lives, at least every 30 s", () => {
    const stage = translated();
    const before = pingsIn(stage);
    vi.advanceTimersByTime(300 * SECOND);
    const pings = pingsIn(stage) - before;
    expect(pings).toBeGreaterThanOrEqual(10);
    expect(pings).toBeLessThanOrEqual(20);
    stage.upstream
      .at(0)
      .data(token("!") + FINISH + DONE)
      .end();
    expect(stage.sink.ends).toBe(1);
    expect(stage.sink.body).toContain("message_stop");
  });

  it("says nothing while the provider speaks", () => {
    const stage = translated();
    const before = pingsIn(stage);
    for (let second = 0; second < 120; second++) {
      vi.advanceTimersByTime(SECOND);
      stage.upstream.at(0).data(token("x"));
    }
    expect(pingsIn(stage)).toBe(before);
  });

  it("E6: says nothing before it commits", () => {
    const stage = createStage(A);
    stage.ask({ path: MESSAGES, body: messagesBody });
    stage.upstream.at(0).stream().data(ROLE);
    vi.advanceTimersByTime(29 * SECOND);
    expect(stage.sink.head).toBeUndefined();
    expect(stage.sink.body).toBe("");
  });

  it("invariant 6: says nothing to a caller that does not read", () => {
    const stage = translated();
    stage.sink.full = true;
    stage.upstream.at(0).data(token("x"));
    const before = stage.sink.body;
    vi.advanceTimersByTime(300 * SECOND);
    expect(stage.sink.body).toBe(before);
    stage.sink.full = false;
    stage.sink.drain();
    vi.advanceTimersByTime(30 * SECOND);
    expect(stage.sink.body.slice(before.length)).toContain(PING);
  });

  it("says nothing after its own end, and leaves no timer behind", async () => {
    const stage = translated();
    stage.upstream.at(0).data(FINISH + DONE);
    const whole = stage.sink.body;
    vi.advanceTimersByTime(300 * SECOND);
    expect(stage.sink.body).toBe(whole);
    stage.upstream.at(0).end();
    await stage.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("leaves no timer behind where the caller goes", async () => {
    const stage = translated();
    stage.call.cancel();
    expect(stage.upstream.at(0).aborted).toBe(true);
    await stage.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("P1: adds nothing to a stream that passes through", () => {
    const stage = createStage(A);
    stage.ask({ stream: true });
    stage.upstream.at(0).stream().data(token("hi"));
    vi.advanceTimersByTime(300 * SECOND);
    expect(stage.sink.body).toBe(token("hi"));
  });
});

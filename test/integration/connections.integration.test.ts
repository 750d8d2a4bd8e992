import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import {
  CH,
  createBlackHole,
  delayed,
  DONE,
  drip,
  FLUSH,
  HANG,
  HEADERS_THEN_HANG,
  HEALTHY,
  OK,
  paced,
  raw,
  rawHttp,
  rawRequest,
  resetFirst,
  resetReused,
  ROLE,
  sse,
} from "@switchyard/testkit";
import { forEachForm } from "../support/gateway-stage.ts";

const CLOCKS = {
  connect_timeout: "500ms",
  first_token_timeout: "1s",
  stream_idle_timeout: "1s",
  attempt_timeout: "1500ms",
  timeout_covers_body: true,
};

forEachForm("a provider", {}, (stage) => {
  it.concurrent("BH-40 connections that close while idle cost nobody a request", async () => {
    const keepAliveMs = 100;
    await using scene = await stage.scene({ order: ["A"], upstream: { keepAliveMs } });
    for (let count = 0; count < 40; count += 1) {
      const sent = performance.now();
      expect((await scene.ask()).status).toBe(200);
      const spacing = keepAliveMs - 5 + (count % 11);
      await sleep(Math.max(0, sent + spacing - performance.now()));
    }
    expect(scene.A.connectionsAccepted).toBeGreaterThan(1);
  });

  it.concurrent("BH-40 connections that are reset when used again are replaced once, uncounted (invariant 7)", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    scene.A.onHeaders(resetReused);
    for (let count = 0; count < 5; count += 1) {
      const reply = await scene.ask();
      expect(reply.status).toBe(200);
      expect(reply.attempts).toHaveLength(1);
    }
    const reused = scene.A.calls.filter(({ requestOnConnection }) => requestOnConnection > 1).length;
    expect(scene.A.calls.length).toBe(5 + reused);
    expect(reused).toBeGreaterThan(0);
  });

  it.concurrent("BH-40 connections that are reset when new are a failure, not replayed", async () => {
    await using scene = await stage.scene();
    scene.A.answer(resetFirst(OK("a")));
    scene.B.answer(OK("b"));
    const reply = await scene.ask();
    expect(reply.content).toBe("b");
    expect(reply.attempts[0]).toMatchObject({ error: "unreachable" });
    expect(scene.counts).toEqual({ A: 1, B: 1 });
    await using alone = await stage.scene({ order: ["A"] });
    alone.A.answer(resetFirst(OK("a")));
    expect((await alone.ask()).status).toBe(502);
    expect(alone.counts).toEqual({ A: 1 });
  });

  it.concurrent("BH-40 connections from a caller stay open while it thinks", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    const headers: [string, string][] = [["Authorization", `Bearer ${scene.key}`]];
    const request = rawRequest("POST", "/v1/chat/completions", headers, JSON.stringify(scene.body()));
    await using client = await rawHttp(scene.port, request);
    expect((await client.response()).status).toBe(200);
    // Node's own default closes a caller's idle connection after five seconds.
    await sleep(5_100);
    await client.send(request);
    expect((await client.response()).status).toBe(200);
  });

  it.concurrent("BH-41 clocks never cut a stream that delivers (E5)", async () => {
    await using scene = await stage.scene({ policy: { ...CLOCKS, request_timeout: "2s" } });
    const pieces = Array.from({ length: 10 }, (_, index) => CH({ content: `${index}` }));
    scene.A.answer(sse([ROLE, ...paced(300, pieces), CH({}, "stop"), DONE]));
    const reply = await scene.stream();
    expect(reply.text).toBe("0123456789");
    expect(reply.done).toBe(true);
    expect(reply.errors).toEqual([]);
    expect(scene.counts).toEqual({ A: 1, B: 0 });
  });

  const silent = [
    ["nothing but headers", HEADERS_THEN_HANG],
    [
      "pings and no token",
      sse([
        ...paced(
          250,
          Array.from({ length: 20 }, () => ": ping\n\n"),
        ),
        HANG,
      ]),
    ],
  ] as const;

  it.concurrent.for(silent)(
    "BH-41 clocks fail over from a stream with %s (E5, first_token_timeout)",
    async ([, answer]) => {
      await using scene = await stage.scene({ policy: CLOCKS });
      scene.A.answer(answer);
      scene.B.answer(HEALTHY("from b"));
      const began = performance.now();
      const reply = await scene.stream();
      expect(reply.text).toBe("from b");
      expect(reply.attempts[0]).toMatchObject({ error: "timeout" });
      const took = performance.now() - began;
      expect(took).toBeGreaterThan(950);
      expect(took).toBeLessThan(8_000);
      expect(scene.counts).toEqual({ A: 1, B: 1 });
    },
  );

  it.concurrent("BH-41 clocks end a stream that falls silent with an error event (E5, E6)", async () => {
    await using scene = await stage.scene({ policy: CLOCKS });
    scene.A.answer(sse([ROLE, CH({ content: "one" }), FLUSH, CH({ content: "two" }), FLUSH, HANG]));
    const began = performance.now();
    const reply = await scene.stream();
    expect(reply.text).toBe("onetwo");
    expect(reply.errors).toHaveLength(1);
    expect(reply.done).toBe(false);
    const took = performance.now() - began;
    expect(took).toBeGreaterThan(950);
    expect(took).toBeLessThan(5_000);
    expect(scene.counts).toEqual({ A: 1, B: 0 });
  });

  it.concurrent("BH-41 clocks leave room for a slow answer within the attempt's time", async () => {
    await using scene = await stage.scene({ policy: CLOCKS });
    scene.A.answer(delayed(1_100, OK("slow")));
    expect((await scene.ask()).content).toBe("slow");
    expect(scene.counts).toEqual({ A: 1, B: 0 });
  });

  it.concurrent("BH-41 clocks fail over from a body that drips (E5, timeout_covers_body)", async () => {
    await using scene = await stage.scene({ policy: CLOCKS });
    scene.A.answer(raw(200, { "Content-Type": "application/json" }, drip('{"choices":[]}', 400)));
    scene.B.answer(OK("from b"));
    const reply = await scene.ask();
    expect(reply.content).toBe("from b");
    expect(reply.ms).toBeGreaterThan(1_400);
    expect(reply.ms).toBeLessThan(5_000);
  });

  it.concurrent("BH-41 clocks fail over from a connect that never completes (E5, connect_timeout)", async () => {
    await using hole = await createBlackHole();
    // Some kernels complete every handshake: there the request is answered by B all the same, after the first token's clock.
    await using scene = await stage.scene({
      policy: CLOCKS,
      providers: { A: { base_url: `${hole.url}/v1` } },
    });
    scene.B.answer(OK("from b"));
    const reply = await scene.ask();
    expect(reply.content).toBe("from b");
    expect(reply.attempts[0]).toMatchObject({ error: hole.works ? "unreachable" : "timeout" });
    if (hole.works) expect(reply.ms).toBeLessThan(8_000);
  });
});

import { expect, it } from "vitest";
import { eventually, json, OK, tooMany } from "@switchyard/testkit";
import type { ScriptedProvider } from "@switchyard/testkit";
import { forEachForm } from "../support/gateway-stage.ts";

const RETRY_ONCE = { retry: { max_retries: 1 }, bench: { failures: 3 }, request_timeout: "10s" };

function inSeconds(seconds: number): string {
  return new Date(Date.now() + seconds * 1_000).toUTCString();
}

function gapOf({ calls: [first, second] }: ScriptedProvider): number {
  return (second?.at ?? Number.NaN) - (first?.at ?? Number.NaN);
}

forEachForm("a provider that says when to come back", {}, (stage) => {
  it.concurrent("BH-04 waits until a Retry-After given as a date (E2)", async () => {
    await using scene = await stage.scene({ order: ["A"], policy: RETRY_ONCE });
    scene.A.script([tooMany({ "Retry-After": inSeconds(3) }), OK("late")]);
    const reply = await scene.ask();
    expect(reply.content).toBe("late");
    expect(scene.counts).toEqual({ A: 2 });
    expect(gapOf(scene.A)).toBeGreaterThan(1_700);
    expect(gapOf(scene.A)).toBeLessThan(4_800);
  });

  it.concurrent("BH-04 waits the seconds of a Retry-After (E2)", async () => {
    await using scene = await stage.scene({ order: ["A"], policy: RETRY_ONCE });
    scene.A.script([tooMany({ "Retry-After": "1" }), OK("late")]);
    expect((await scene.ask()).content).toBe("late");
    expect(gapOf(scene.A)).toBeGreaterThan(970);
    expect(gapOf(scene.A)).toBeLessThan(4_000);
  });

  it.concurrent("BH-04 hands over the 429 with its Retry-After when the wait is longer than the time left (E2)", async () => {
    await using scene = await stage.scene({ order: ["A"], policy: { ...RETRY_ONCE, request_timeout: "1s" } });
    scene.A.script([tooMany({ "Retry-After": inSeconds(3) }), OK("early")]);
    const reply = await scene.ask();
    expect(reply.status).toBe(429);
    expect(reply.ms).toBeLessThan(2_900);
    const told = reply.headers.get("retry-after") ?? "";
    const seconds = /^\d+$/.test(told) ? Number(told) : (Date.parse(told) - Date.now()) / 1_000;
    expect(seconds).toBeGreaterThan(0.7);
    expect(seconds).toBeLessThanOrEqual(3);
    expect(reply.attempts.map(({ outcome }) => outcome)).toEqual(["benched"]);
    expect(scene.counts).toEqual({ A: 1 });
  });

  it.concurrent("BH-04 takes a date in the past for no wait", async () => {
    await using scene = await stage.scene({ order: ["A"], policy: RETRY_ONCE });
    scene.A.script([tooMany({ "Retry-After": "Tue, 01 Dec 2020 10:00:03 GMT" }), OK("soon")]);
    const reply = await scene.ask();
    expect(reply.content).toBe("soon");
    expect(gapOf(scene.A)).toBeLessThan(4_000);
  });

  it.concurrent("BH-04 cools a deployment as long as the date says while another serves (B2)", async () => {
    const skip = { failures: 0, rate_limit_skip: { default: "5s", max: "60s" } };
    await using scene = await stage.scene({ order: ["A", "B"], policy: { bench: skip } });
    scene.B.answer(OK("b"));
    scene.A.script([tooMany({ "Retry-After": inSeconds(3) }), OK("a")]);
    const began = performance.now();
    const first = await scene.ask();
    expect(first.content).toBe("b");
    expect(first.ms).toBeLessThan(2_900);
    const back = await eventually(
      async () => {
        expect((await scene.ask()).content).toBe("a");
        return performance.now() - began;
      },
      { within: 6_000, every: 100 },
    );
    expect(back).toBeGreaterThan(1_700);
    expect(back).toBeLessThan(4_300);
  });

  it.concurrent("E7 a wait that Google says in the body alone is told in the headers that SDKs read", async () => {
    const providers = { A: { family: "gemini" } };
    await using scene = await stage.scene({ order: ["A"], providers, policy: { bench: { failures: 0 } } });
    const info = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "31.5s" };
    const error = { code: 429, message: "quota", status: "RESOURCE_EXHAUSTED", details: [info] };
    scene.A.answer(json(429, { error }));
    const asked = [
      ["/v1/chat/completions", scene.body()],
      ["/v1/messages", scene.body({ max_tokens: 9 })],
      ["/v1/responses", { model: scene.model, input: "hi" }],
    ] as const;
    for (const [path, body] of asked) {
      const { status, headers } = await scene.ask(JSON.stringify(body), { path });
      expect([path, status, headers.get("retry-after"), headers.get("retry-after-ms")]).toEqual([
        path,
        429,
        "32",
        "31500",
      ]);
    }
  });

  it.concurrent("E7 what a provider says in headers goes on as it says it", async () => {
    const providers = { A: { family: "anthropic" } };
    await using scene = await stage.scene({ order: ["A"], providers, policy: { bench: { failures: 0 } } });
    const limits = {
      "retry-after": "7",
      "anthropic-ratelimit-requests-remaining": "0",
      "anthropic-ratelimit-requests-reset": "2026-11-30T22:00:00Z",
      "request-id": "req_up",
      "x-should-retry": "true",
    };
    const error = { type: "rate_limit_error", message: "slow down" };
    scene.A.answer(json(429, { type: "error", error }, limits));
    for (const path of ["/v1/messages", "/v1/chat/completions"]) {
      const reply = await scene.ask({ max_tokens: 9 }, { path });
      for (const [name, value] of Object.entries(limits))
        expect([name, reply.headers.get(name)]).toEqual([name, value]);
      expect(reply.headers.get("retry-after-ms")).toBeNull();
    }
  });
});

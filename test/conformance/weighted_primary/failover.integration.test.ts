import { expect, it } from "vitest";
import {
  asAsked,
  BROKEN,
  CH,
  data,
  failure,
  FIN,
  FLUSH,
  json,
  OK,
  RESET,
  ROLE,
  SILENT,
  sse,
  tooMany,
  withHeaders,
} from "@switchyard/testkit";
import type { Answer } from "@switchyard/testkit";
import type { Reply } from "../../support/gateway-client.ts";
import type { SceneSpec } from "../../support/gateway-scene.ts";
import { forEachForm } from "../../support/gateway-stage.ts";
import { named, PAIR } from "../support/calls.ts";

/** 100/0: A is the primary, B its failover. */
const PRESET: SceneSpec = { preset: "weighted_primary" };
const ONLY_A: SceneSpec = { ...PRESET, order: ["A"] };
/** The document's 60 seconds, where a test has to wait for them. */
const SHORT = { request_timeout: "500ms", attempt_timeout: "500ms" };
const MIB = 1024 * 1024;

function expectSkipped({ status, error, headers }: Reply, fromSeconds: number, toSeconds: number): void {
  expect([status, error.code]).toEqual([503, "upstream_unavailable"]);
  const seconds = Number(headers.get("retry-after"));
  expect(seconds).toBeGreaterThanOrEqual(fromSeconds);
  expect(seconds).toBeLessThanOrEqual(toSeconds);
}

const NEXT: readonly (readonly [string, Answer])[] = [
  ["could not be reached", RESET],
  ...[500, 501, 502, 503, 504, 520].map(
    (status) => [`answered with a ${status}`, failure(status, { message: "broken" })] as const,
  ),
  ["answered with overloaded", failure(529, { message: "Overloaded", type: "overloaded_error" })],
  ["said overloaded in a 200", json(200, { error: { message: "Overloaded", type: "overloaded_error" } })],
  ["rate-limited the request", tooMany()], // The last: from here on it is skipped.
];

const SPEND_LIMIT = json(400, {
  type: "error",
  error: {
    type: "invalid_request_error",
    message:
      "You have reached your specified API usage limits. You will regain access on 2026-01-01 at 00:00 UTC.",
  },
});
const NO_CREDIT = json(400, {
  type: "error",
  error: {
    type: "invalid_request_error",
    message: "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.",
  },
});
const QUOTA = failure(429, {
  message: "You exceeded your current quota, please check your plan and billing details.",
  type: "insufficient_quota",
  code: "insufficient_quota",
});

forEachForm("B: when a destination fails", {}, (stage) => {
  it.concurrent("Retried on the next one: could not be reached, a 5xx, overloaded, 429 (E10)", async () => {
    // So many failures would skip the provider: another sentence.
    await using scene = await stage.scene({ ...PRESET, policy: { bench: { failures: 0 } } });
    named(scene, PAIR);
    for (const [name, answer] of NEXT) {
      scene.A.clearCalls();
      scene.B.clearCalls();
      scene.A.answer(answer);
      expect([name, (await scene.ask()).content]).toEqual([name, "B"]);
      expect(scene.counts).toEqual({ A: 1, B: 1 });
    }
  });

  it.concurrent("Being skipped after repeated failures: yes, and nothing is sent to it (B3)", async () => {
    await using scene = await stage.scene(PRESET);
    named(scene, PAIR);
    scene.A.answer(BROKEN);
    for (let count = 0; count < 5; count += 1) await scene.ask();
    const reply = await scene.ask();
    expect(reply.content).toBe("B");
    expect(reply.attempts).toHaveLength(1);
    expect(scene.counts).toEqual({ A: 5, B: 6 });
  });

  it.concurrent("Did not start answering within 60 seconds (500 ms here): 504, not retried (E8)", async () => {
    await using scene = await stage.scene({ ...PRESET, policy: SHORT });
    scene.A.answer(SILENT);
    const reply = await scene.ask();
    expect([reply.status, reply.error.code]).toEqual([504, "upstream_timeout"]);
    expect(reply.attempts.map(({ outcome }) => outcome)).toEqual(["timeout"]);
    expect(scene.counts).toEqual({ A: 1, B: 0 });
  });

  it.concurrent("Answered with another 4xx error: not retried (E1)", async () => {
    await using scene = await stage.scene(PRESET);
    for (const status of [400, 401, 403, 404, 408, 409, 413, 418, 422]) {
      scene.A.clearCalls();
      scene.A.answer(failure(status, { message: "the request or the setup", type: "invalid_request_error" }));
      const reply = await scene.ask();
      expect([reply.status, reply.error.message]).toEqual([status, "the request or the setup"]);
      expect(scene.counts).toEqual({ A: 1, B: 0 });
    }
  });

  it.concurrent("Retries happen only before any part of the response reaches the caller (E6)", async () => {
    await using scene = await stage.scene(PRESET);
    scene.B.answer(asAsked("b"));
    scene.A.script([
      sse([ROLE, data({ error: { message: "Overloaded", type: "overloaded_error" } })]),
      sse([ROLE, CH({ content: "half" }), FLUSH, FIN]),
    ]);
    expect((await scene.stream()).text).toBe("b");
    const cut = await scene.stream();
    expect([cut.status, cut.text, cut.done]).toEqual([200, "half", false]);
    expect(cut.errors).toHaveLength(1);
    expect(scene.counts).toEqual({ A: 2, B: 1 });
  });

  it.concurrent("Two attempts in all: its destination and, at most, one more (E4)", async () => {
    const deployments = { A: { weight: 100 }, B: { weight: 0 }, C: { weight: 0 } };
    await using scene = await stage.scene({ ...PRESET, order: ["A", "B", "C"], deployments });
    for (const each of [scene.A, scene.B]) each.answer(BROKEN);
    expect((await scene.ask()).status).toBe(500);
    expect(scene.counts).toEqual({ A: 1, B: 1, C: 0 });
  });

  it.concurrent("A request body over 8 MiB goes to one destination only (E8)", async () => {
    await using scene = await stage.scene(PRESET);
    named(scene, PAIR);
    scene.A.answer(BROKEN);
    const sized = (bytes: number): string => {
      const body = JSON.stringify(scene.body({ pad: "" }));
      return body.replace('"pad":""', `"pad":"${"x".repeat(bytes - body.length)}"`);
    };
    expect((await scene.ask(sized(8 * MIB + 1))).status).toBe(500);
    expect(scene.counts).toEqual({ A: 1, B: 0 });
    expect((await scene.ask(sized(8 * MIB))).content).toBe("B");
    expect(scene.counts).toEqual({ A: 2, B: 1 });
  });

  it.concurrent("A request that brought its own key is retried only on the same provider (E9)", async () => {
    await using scene = await stage.scene({
      ...PRESET,
      list: (provider) => [
        { provider: provider("A"), model: "first", weight: 60 },
        { provider: provider("B"), model: "other", weight: 40 },
        { provider: provider("A"), model: "second", weight: 0 },
      ],
    });
    const own = { headers: { "x-provider-key": `up-a-${scene.group.slice(2)}=sk-own-0123456789` } };
    scene.A.script([BROKEN, OK("second")]);
    expect((await scene.ask({}, own)).content).toBe("second");
    const models = scene.A.calls.map((call) => (call.json() as { model: string }).model);
    expect(models).toEqual(["first", "second"]);
    scene.A.answer(BROKEN);
    expect((await scene.ask({}, own)).status).toBe(500);
    expect(scene.counts).toEqual({ A: 4, B: 0 });
    for (const call of scene.A.calls) expect(call.header("authorization")).toBe("Bearer sk-own-0123456789");
  });

  it.concurrent("When every attempt fails, the caller gets the last provider's real answer (E7)", async () => {
    await using scene = await stage.scene(PRESET);
    scene.A.answer(BROKEN);
    const error = {
      message: "Slow down, please",
      type: "requests",
      param: null,
      code: "rate_limit_exceeded",
    };
    scene.B.answer(
      withHeaders(json(429, { error }), { "Retry-After": "17", "x-ratelimit-remaining-requests": "0" }),
    );
    const reply = await scene.ask();
    expect(reply.status).toBe(429);
    expect(reply.json()).toEqual({ error });
    expect(reply.headers.get("retry-after")).toBe("17");
    expect(reply.headers.get("x-ratelimit-remaining-requests")).toBe("0");
  });
});

forEachForm("B: failing destinations are skipped briefly", {}, (stage) => {
  it.concurrent.for([
    ["as long as Retry-After says", "30", 25, 30],
    ["10 seconds if it says nothing", undefined, 6, 10],
    ["10 seconds if it says nothing that can be used", "soon", 6, 10],
    ["never longer than 60 seconds", "3600", 55, 60],
  ] as const)("After a 429, the destination is skipped for %s (B2)", async ([, told, from, to]) => {
    await using scene = await stage.scene(ONLY_A);
    scene.A.script([tooMany(told === undefined ? {} : { "Retry-After": told }), OK("A")]);
    expect((await scene.ask()).status).toBe(429);
    expectSkipped(await scene.ask(), from, to);
    expect(scene.counts).toEqual({ A: 1 });
  });

  it.concurrent("It is skipped for that one model only, in every group; the provider's others keep routing (B2)", async () => {
    await using scene = await stage.scene({
      ...ONLY_A,
      groups: { same: { order: ["A"] }, other: { order: ["A"], deployments: { A: { model: "another" } } } },
    });
    scene.A.script([tooMany(), OK("A")]);
    expect((await scene.ask()).status).toBe(429);
    expectSkipped(await scene.ask({ model: scene.groupOf("same") }), 6, 10);
    expect((await scene.ask({ model: scene.groupOf("other") })).content).toBe("A");
  });

  it.concurrent.for([
    ["Anthropic's spend limit", "anthropic", SPEND_LIMIT],
    ["Anthropic's credit balance", "anthropic", NO_CREDIT],
    ["OpenAI's quota", "openai", QUOTA],
  ] as const)(
    "Out of credit, %s: every model on that provider is skipped for 60 seconds (B2)",
    async (each) => {
      const [, family, answer] = each;
      await using scene = await stage.scene({
        ...PRESET,
        providers: { A: { family } },
        groups: { other: { order: ["A"], deployments: { A: { model: "another" } } } },
      });
      named(scene, ["B"]);
      scene.A.answer(answer);
      for (let count = 0; count < 3; count += 1)
        expect((await scene.ask({ max_tokens: 9 })).content).toBe("B");
      expect(scene.counts).toEqual({ A: 1, B: 3 });
      expectSkipped(await scene.ask({ model: scene.groupOf("other"), max_tokens: 9 }), 55, 60);
    },
  );

  it.concurrent("After repeated errors, sending to a provider stops; no destination left is 503 with Retry-After (B3, R7)", async () => {
    await using scene = await stage.scene({
      ...ONLY_A,
      groups: {
        other: { order: ["A"], deployments: { A: { model: "another" } } },
        backed: { order: ["A", "B"] },
      },
    });
    named(scene, PAIR);
    scene.A.answer(BROKEN);
    // Of one provider, whatever the model.
    for (const group of ["g", "other", "g", "other", "g"]) {
      expect((await scene.ask({ model: scene.groupOf(group) })).status).toBe(500);
    }
    expectSkipped(await scene.ask(), 25, 30);
    expectSkipped(await scene.ask({ model: scene.groupOf("other") }), 25, 30);
    expect((await scene.ask({ model: scene.groupOf("backed") })).content).toBe("B");
    expect(scene.counts).toEqual({ A: 5, B: 1 });
  });

  it.concurrent("Errors of the caller's own making skip nobody (section 5)", async () => {
    await using scene = await stage.scene(ONLY_A);
    scene.A.answer(failure(401, { message: "setup", type: "invalid_request_error" }));
    for (let count = 0; count < 6; count += 1) expect((await scene.ask()).status).toBe(401);
    scene.A.answer(OK("A"));
    expect((await scene.ask()).content).toBe("A");
  });
});

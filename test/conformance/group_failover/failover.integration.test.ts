import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  asAsked,
  BROKEN,
  CH,
  delayed,
  DONE,
  failure,
  FIN,
  FLUSH,
  freePort,
  OK,
  paced,
  RESET,
  ROLE,
  SILENT,
  sse,
} from "@switchyard/testkit";
import type { Answer } from "@switchyard/testkit";
import { OtlpCollector } from "../../support/otlp-collector.ts";
import type { GroupSpec, Scene, SceneSpec } from "../../support/gateway-scene.ts";
import { forEachForm } from "../../support/gateway-stage.ts";
import { benchingCases } from "./benching-cases.ts";

const PRESET = { preset: "group_failover" };
/** A serves, as good as always, then B, then C. */
const IN_ORDER: SceneSpec = {
  ...PRESET,
  deployments: { A: { weight: 1_000_000 }, B: { weight: 2 }, C: { weight: 1 } },
};
/** Retries that no test has to wait for: the document's 250 ms to 8 s are shown by the unit. */
const SOON = { retry: { initial_backoff: "5ms" } };
const NO_BENCH = { bench: { failures: 0 } };
const NO_RETRIES = { retry: { max_retries: 0 } };
const TO_C: SceneSpec["groups"] = { other: { order: ["C"], policy: { fallback: {} } } };

let collector: OtlpCollector;
// Before the gateways of each form start, which read them once.
beforeAll(async () => {
  collector = await OtlpCollector.start();
  Object.assign(process.env, collector.env);
});
afterAll(async () => {
  for (const name of Object.keys(collector.env)) delete process.env[name];
  await collector[Symbol.asyncDispose]();
});

/** The attributes of the span of a request of that many attempts. */
async function traced(scene: Scene, attempts: number): Promise<Readonly<Record<string, unknown>>> {
  const traceId = randomBytes(16).toString("hex");
  await scene.ask({}, { headers: { traceparent: `00-${traceId}-${randomBytes(8).toString("hex")}-01` } });
  const [request] = await collector.trace(traceId, attempts + 1);
  return request?.attributes ?? {};
}

function outcomes(reply: { readonly attempts: readonly { readonly outcome: string }[] }): string[] {
  return reply.attempts.map(({ outcome }) => outcome);
}

const RETRYABLE: readonly (readonly [string, Answer])[] = [
  // The first, for one that breaks on a kept connection is sent again on a new one within its attempt.
  ["a connection failure", RESET],
  ...[408, 409, 429, 500, 502, 503, 504, 520, 529].map(
    (status) => [`HTTP ${status}`, failure(status, { message: "again" })] as const,
  ),
  ["a timeout before the provider responds", SILENT],
];

const TOO_LONG = { message: "maximum context length is 8192 tokens", code: "context_length_exceeded" };
const REFUSED = { message: "The response was filtered", code: "content_filter" };

forEachForm(
  "A: retries, timeouts, failover, benching and fallback groups",
  { ownProcesses: true },
  (stage) => {
    benchingCases(stage);

    it.concurrent("Retryable are 408, 409, 429, any 5xx, timeouts before the provider responds and connection failures (E1)", async () => {
      // One attempt of the preset has all the request's time, so that a silent one leaves none: here it has 800 ms.
      const policy = { ...SOON, ...NO_BENCH, attempt_timeout: "800ms" };
      await using scene = await stage.scene({ ...IN_ORDER, policy });
      for (const [name, answer] of RETRYABLE) {
        scene.A.clearCalls();
        scene.A.script([answer, answer, OK("a")]);
        const reply = await scene.ask();
        const outcome = answer === SILENT ? "timeout" : "retryable";
        expect([name, reply.content, ...outcomes(reply)]).toEqual([name, "a", outcome, outcome, "ok"]);
        expect(scene.counts).toEqual({ A: 3, B: 0 });
      }
    });

    it.concurrent("Retryable is any 5xx except 501, which moves (E1)", async () => {
      await using scene = await stage.scene({ ...IN_ORDER, policy: SOON });
      scene.A.answer(failure(501, { message: "not here" }));
      const reply = await scene.ask();
      expect([reply.status, ...outcomes(reply)]).toEqual([200, "failed", "ok"]);
      expect(scene.counts).toEqual({ A: 1, B: 1 });
    });

    it.concurrent("1 retry the same model, 2 try the next, 3 try the fallback group (E3)", async () => {
      const policy = { retry: { max_retries: 1, initial_backoff: "5ms" }, fallback: { general: "other" } };
      await using scene = await stage.scene({ ...IN_ORDER, policy, groups: TO_C });
      for (const each of [scene.A, scene.B]) each.answer(BROKEN);
      scene.C.answer(OK("c"));
      const reply = await scene.ask();
      expect(reply.content).toBe("c");
      expect(reply.attempts.map(({ deployment }) => deployment.slice(-1))).toEqual(["A", "A", "B", "B", "C"]);
      expect(reply.headers.get("x-ants-model-group")).toBe(scene.groupOf("other"));
    });

    it.concurrent("At most 6 provider attempts in total, across models and fallback groups (E4, G5)", async () => {
      const policy = { ...SOON, fallback: { general: "other" } };
      await using scene = await stage.scene({ ...IN_ORDER, policy, groups: TO_C });
      for (const each of [scene.A, scene.B, scene.C]) each.answer(BROKEN);
      const reply = await scene.ask();
      expect(reply.status).toBe(500);
      expect(scene.counts).toEqual({ A: 3, B: 3, C: 0 });
      await using split = await stage.scene({
        ...IN_ORDER,
        order: ["A"],
        policy,
        groups: {
          other: {
            order: ["B", "C"],
            policy: { fallback: {} },
            deployments: { B: { weight: 1_000_000 } },
          },
        },
      });
      for (const each of [split.A, split.B, split.C]) each.answer(BROKEN);
      await split.ask();
      expect(split.counts).toEqual({ A: 3, B: 3, C: 0 });
    });

    it.concurrent("It stops when the request timeout runs out (E4)", async () => {
      const policy = { ...SOON, request_timeout: "1200ms" };
      await using scene = await stage.scene({ ...IN_ORDER, policy });
      for (const each of [scene.A, scene.B]) each.answer(delayed(500, BROKEN));
      const reply = await scene.ask();
      expect(reply.status).toBe(500);
      expect(scene.A.calls.length).toBeLessThanOrEqual(3);
      expect(scene.B.calls.length).toBe(0);
    });

    it.concurrent("The request timeout covers a call that connects and then goes quiet (E5)", async () => {
      await using scene = await stage.scene({ ...IN_ORDER, policy: { request_timeout: "400ms" } });
      scene.A.answer(SILENT);
      const reply = await scene.ask();
      expect([reply.status, reply.error.code, ...outcomes(reply)]).toEqual([
        504,
        "upstream_timeout",
        "timeout",
      ]);
      expect(reply.ms).toBeGreaterThan(390);
      expect(scene.counts).toEqual({ A: 1, B: 0 });
    });

    it.concurrent("The request timeout does not limit how long a stream may run once it has started (E5)", async () => {
      await using scene = await stage.scene({ ...IN_ORDER, policy: { request_timeout: "800ms" } });
      const pieces = Array.from({ length: 6 }, (_, index) => CH({ content: `${index}` }));
      scene.A.answer(sse([ROLE, ...paced(200, pieces), CH({}, "stop"), DONE]));
      const reply = await scene.stream();
      expect([reply.text, reply.done, reply.failure]).toEqual(["012345", true, undefined]);
    });

    it.concurrent("A streamed request is retried and failed over until the first byte reaches the client (E6)", async () => {
      await using scene = await stage.scene({ ...IN_ORDER, policy: SOON });
      scene.A.script([BROKEN, asAsked("retried")]);
      expect((await scene.stream()).text).toBe("retried");
      expect(scene.counts).toEqual({ A: 2, B: 0 });
      scene.A.answer(sse([ROLE, FIN]));
      scene.B.answer(asAsked("failed over"));
      expect((await scene.stream()).text).toBe("failed over");
      expect(scene.counts).toEqual({ A: 3, B: 1 });
    });

    it.concurrent("After that it is committed to the model that is streaming (E6)", async () => {
      await using scene = await stage.scene({ ...IN_ORDER, policy: SOON });
      scene.A.answer(sse([ROLE, CH({ content: "half" }), FLUSH, FIN]));
      const reply = await scene.stream();
      expect([reply.status, reply.text, reply.done]).toEqual([200, "half", false]);
      expect(reply.errors).toHaveLength(1);
      expect(scene.counts).toEqual({ A: 1, B: 0 });
    });

    it.concurrent("When everything fails, the caller receives the last provider's error with its status code (E7)", async () => {
      await using scene = await stage.scene({ ...IN_ORDER, policy: NO_RETRIES });
      scene.A.answer(failure(500, { message: "the first one's" }));
      scene.B.answer(failure(503, { message: "the last one's", type: "overloaded" }));
      const reply = await scene.ask();
      expect([reply.status, reply.error.message]).toEqual([503, "the last one's"]);
      expect(await traced(scene, 2)).toMatchObject({ "gateway.refusal": "all_deployments_failed" });
    });

    it.concurrent("502 upstream_unreachable or 504 upstream_timeout when no provider answered (E7)", async () => {
      const policy = { ...NO_RETRIES, attempt_timeout: "300ms" };
      await using scene = await stage.scene({
        ...IN_ORDER,
        policy,
        providers: { B: { base_url: `http://127.0.0.1:${await freePort()}/v1` } },
      });
      scene.A.answer(SILENT);
      const unreachable = await scene.ask();
      expect([unreachable.status, unreachable.error.code]).toEqual([502, "upstream_unreachable"]);
      await using late = await stage.scene({ ...IN_ORDER, policy });
      late.A.answer(RESET);
      late.B.answer(SILENT);
      const timedOut = await late.ask();
      expect([timedOut.status, timedOut.error.code]).toEqual([504, "upstream_timeout"]);
      expect(await traced(late, 2)).toMatchObject({ "gateway.refusal": "all_deployments_failed" });
    });

    it.concurrent("Every response that reached a provider lists its attempts, and the trace has the same list (H1)", async () => {
      await using scene = await stage.scene({ ...IN_ORDER, policy: { ...NO_RETRIES, ...NO_BENCH } });
      scene.A.answer(failure(503, { message: "down for tea" }));
      const provider = (name: string): string => `up-${name}-${scene.group.slice(2)}`;
      const ms = expect.any(Number) as number;
      const first = { deployment: `${provider("a")}/m-A`, outcome: "retryable", ms, status: 503 };
      const second = { deployment: `${provider("b")}/m-B`, outcome: "ok", ms, status: 200 };
      const { attempts } = await scene.ask();
      expect(attempts).toEqual([{ ...first, error: "overloaded", message: "down for tea" }, second]);
      const list = JSON.parse(String((await traced(scene, 2))["switchyard.route.attempts"])) as object[];
      expect(list).toEqual([{ ...first, error: "overloaded" }, second]);
      scene.B.answer(failure(400, { message: "your mistake", type: "invalid_request_error" }));
      expect(outcomes(await scene.ask())).toEqual(["retryable", "failed"]);
      expect((await scene.ask({ model: "nobody's" })).headers.get("x-ants-attempts")).toBeNull();
    });

    it.concurrent("What a provider rejects on its merits (400, 413, 422) is not retried, not sent to another model or group (E1)", async () => {
      const policy = { ...SOON, fallback: { general: "other" } };
      await using scene = await stage.scene({ ...IN_ORDER, policy, groups: TO_C });
      for (const status of [400, 413, 422]) {
        scene.A.clearCalls();
        scene.A.answer(failure(status, { message: "on its merits", type: "invalid_request_error" }));
        const reply = await scene.ask();
        expect([reply.status, reply.error.message]).toEqual([status, "on its merits"]);
        expect(scene.counts).toEqual({ A: 1, B: 0, C: 0 });
      }
    });

    const both = { context: "longer", content: "milder" };
    const byKind: Record<string, GroupSpec> = {
      longer: { order: ["B"], policy: { fallback: {} } },
      milder: { order: ["C"], policy: { fallback: {} } },
    };
    it.concurrent.for([
      ["context", TOO_LONG, "longer"],
      ["content", REFUSED, "milder"],
    ] as const)(
      "%s is recognised from a 400, 403, 413 or 422, and its fallback group serves (G1, G2, G4)",
      async (row) => {
        const [kind, error, name] = row;
        const policy = { ...SOON, fallback: both };
        await using scene = await stage.scene({ ...IN_ORDER, order: ["A"], policy, groups: byKind });
        for (const status of [400, 403, 413, 422]) {
          scene.A.answer(failure(status, { type: "invalid_request_error", ...error }));
          const reply = await scene.ask();
          expect([status, reply.status]).toEqual([status, 200]);
          expect(reply.headers.get("x-ants-model-group")).toBe(scene.groupOf(name));
        }
        expect(scene.counts).toEqual({ A: 4, B: kind === "context" ? 4 : 0, C: kind === "context" ? 0 : 4 });
        expect(await traced(scene, 2)).toMatchObject({ "gateway.fallback_kind": kind });
      },
    );

    it.concurrent("A 429 or 503 is always an ordinary retryable failure, whatever it mentions (section 5)", async () => {
      const policy = { ...SOON, ...NO_BENCH, fallback: both };
      await using scene = await stage.scene({ ...IN_ORDER, order: ["A"], policy, groups: byKind });
      for (const status of [429, 503]) {
        for (const error of [TOO_LONG, REFUSED]) {
          scene.A.script([failure(status, error), OK("a")]);
          const reply = await scene.ask();
          expect([status, reply.content, ...outcomes(reply)]).toEqual([status, "a", "retryable", "ok"]);
          expect(reply.headers.get("x-ants-model-group")).toBeNull();
        }
      }
      expect(scene.counts).toEqual({ A: 8, B: 0, C: 0 });
    });

    it.concurrent("A request passes through at most three fallback hops, and the trace records general (E4, G2)", async () => {
      const model = (name: string): SceneSpec["deployments"] => ({ A: { model: name }, B: { model: name } });
      const to = (general: string): Readonly<Record<string, unknown>> => ({
        ...NO_RETRIES,
        fallback: { general },
      });
      const groups: Record<string, GroupSpec> = {
        one: { order: ["B"], policy: to("two") },
        two: { order: ["C"], policy: to("three") },
        three: { order: ["A"], policy: to("four"), deployments: model("third") },
        four: { order: ["B"], policy: { fallback: {} }, deployments: model("fourth") },
      };
      await using scene = await stage.scene({ ...IN_ORDER, order: ["A"], policy: to("one"), groups });
      for (const each of [scene.A, scene.B, scene.C]) each.answer(BROKEN);
      expect((await scene.ask()).status).toBe(500);
      expect(scene.counts).toEqual({ A: 2, B: 1, C: 1 });
      scene.B.answer(OK("b"));
      expect((await scene.ask()).headers.get("x-ants-model-group")).toBe(scene.groupOf("one"));
      expect(await traced(scene, 2)).toMatchObject({ "gateway.fallback_kind": "general" });
    });
  },
);

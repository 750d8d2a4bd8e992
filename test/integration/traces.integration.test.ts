import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BROKEN, failure, startNode } from "@switchyard/testkit";
import type { CollectedSpan } from "../support/otlp-collector.ts";
import { OtlpCollector } from "../support/otlp-collector.ts";
import { CANARIES } from "../support/gateway-scene.ts";
import { forEachForm } from "../support/gateway-stage.ts";

const MAIN = join(import.meta.dirname, "../../services/standalone/src/main.ts");
const PROMPT = "a prompt that stays between caller and provider";

let collector: OtlpCollector;
const outside = { ...process.env };

// Before the gateways of each form start, which read them once.
beforeAll(async () => {
  collector = await OtlpCollector.start();
  Object.assign(process.env, collector.env);
});
afterAll(async () => {
  for (const name of Object.keys(collector.env)) delete process.env[name];
  Object.assign(process.env, outside);
  await collector[Symbol.asyncDispose]();
});

/** A caller's span. */
function callersSpan(): { readonly traceId: string; readonly spanId: string; readonly traceparent: string } {
  const [traceId, spanId] = [randomBytes(16).toString("hex"), randomBytes(8).toString("hex")];
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-01` };
}

function asTree(spans: readonly CollectedSpan[]): string[] {
  const nameOf = new Map(spans.map(({ spanId, name }) => [spanId, name]));
  return spans.map(({ kind, name, parentSpanId }) => {
    const parent = parentSpanId === undefined ? "none" : (nameOf.get(parentSpanId) ?? parentSpanId);
    return `${kind} ${name} of ${parent}`;
  });
}

forEachForm("traces", { ownProcesses: true }, (stage) => {
  it.concurrent("H1, H4, G2: the caller's span, the request's and one of each attempt are one trace", async () => {
    await using scene = await stage.scene({ order: ["A", "B"] });
    scene.A.answer(failure(503, { message: `overloaded, could not say "${PROMPT}"` }));
    const caller = callersSpan();
    const { traceparent } = caller;
    const messages = [{ role: "user", content: PROMPT }];
    const reply = await scene.ask(
      { messages },
      {
        headers: { traceparent, tracestate: "vendor=1", baggage: "tenant=t1" },
      },
    );
    expect(reply.status).toBe(200);

    const spans = await collector.trace(caller.traceId, 3);
    const [request, first, second] = spans as [CollectedSpan, CollectedSpan, CollectedSpan];
    expect(asTree(spans)).toEqual([
      `server chat ${scene.group} of ${caller.spanId}`,
      `client chat m-A of chat ${scene.group}`,
      `client chat m-B of chat ${scene.group}`,
    ]);
    expect([request.failed, first.failed, second.failed]).toEqual([false, true, false]);
    expect(first.attributes).toMatchObject({
      "error.type": "overloaded",
      "http.response.status_code": 503,
      "server.address": "127.0.0.1",
      "server.port": scene.A.port,
    });
    expect(second.attributes).toMatchObject({
      "http.request.resend_count": 1,
      "http.response.status_code": 200,
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "m-B",
      "gen_ai.usage.input_tokens": expect.any(Number),
      "gen_ai.usage.output_tokens": expect.any(Number),
      "switchyard.route.step": "failover",
    });
    expect(request.attributes).toMatchObject({
      "http.response.status_code": 200,
      "gen_ai.request.model": scene.group,
      "switchyard.route.strategy": "weighted",
      "switchyard.route.deployment": reply.attempts[1]?.deployment,
      "switchyard.request.id": reply.headers.get("x-request-id"),
    });
    const listed = JSON.parse(String(request.attributes["switchyard.route.attempts"])) as object[];
    // Messages stay out: a provider's may quote the prompt.
    expect(listed).toEqual(reply.attempts.map((entry) => ({ ...entry, message: undefined })));

    // Providers that trace go on below the attempt that called them.
    for (const [upstream, span] of [
      [scene.A, first],
      [scene.B, second],
    ] as const) {
      expect(upstream.calls[0]?.headerValues("traceparent")).toEqual([
        `00-${caller.traceId}-${span.spanId}-01`,
      ]);
      expect(upstream.calls[0]?.headerValues("tracestate")).toEqual(["vendor=1"]);
      expect(upstream.calls[0]?.headerValues("baggage")).toEqual(["tenant=t1"]);
    }
    expect(collector.text).not.toContain(PROMPT);
    expect(collector.text).not.toContain(scene.key);
    for (const canary of Object.values(CANARIES)) expect(collector.text).not.toContain(canary);
  });

  it.concurrent("E7: says all_deployments_failed when everything failed", async () => {
    await using scene = await stage.scene({ order: ["A", "B"] });
    scene.A.answer(BROKEN);
    scene.B.answer(BROKEN);
    const { traceId, traceparent } = callersSpan();
    expect((await scene.ask({}, { headers: { traceparent } })).status).toBe(500);
    const [request] = await collector.trace(traceId, 3);
    expect(request).toMatchObject({
      kind: "server",
      failed: true,
      attributes: { "gateway.refusal": "all_deployments_failed", "error.type": "server_error" },
    });
  });

  it.concurrent("a refusal is a span of its own, which names it", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    const { traceId, traceparent } = callersSpan();
    const reply = await scene.ask({}, { key: "no-such-key", headers: { traceparent } });
    expect(reply.status).toBe(401);
    const [request] = await collector.trace(traceId, 1);
    expect(request?.attributes).toMatchObject({
      "http.response.status_code": 401,
      "gateway.refusal": "invalid_api_key",
    });
    expect(collector.text).not.toContain("no-such-key");
  });

  it.concurrent("a stream tells when its first token came", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    const { traceId, traceparent } = callersSpan();
    const reply = await scene.stream({}, { headers: { traceparent } });
    expect(reply.status).toBe(200);
    const [, attempt] = await collector.trace(traceId, 2);
    expect(attempt?.attributes["gen_ai.response.time_to_first_chunk"]).toBeGreaterThan(0);
    expect(attempt?.attributes["gen_ai.response.time_to_first_chunk"]).toBeLessThan(60);
  });
});

describe("OpenTelemetry's SDK", () => {
  // But for its API, a few types and no-ops, which prom-client loads for exemplars.
  const HOOK = `data:text/javascript,${encodeURIComponent(`
    import { registerHooks } from "node:module";
    registerHooks({
      resolve(specifier, context, next) {
        const found = next(specifier, context);
        if (/\\/node_modules\\/@opentelemetry\\/(?!api\\/)/.test(found.url)) process.stderr.write("LOADED " + specifier + "\\n");
        return found;
      },
    });
  `)}`;

  async function loadedBy(env: Readonly<Record<string, string | undefined>>): Promise<number> {
    const any = ["--http", "127.0.0.1:0", "--rpc", "127.0.0.1:0", "--ops", "127.0.0.1:0"];
    const child = await startNode(["--import", HOOK, MAIN, "quickstart", ...any], { env, ready: /^ready / });
    try {
      const http = / http=(\S+)/.exec(child.stdout)?.[1] ?? "";
      const reply = await fetch(`${http}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: "Bearer sk-quickstart", "content-type": "application/json" },
        body: JSON.stringify({ model: "demo", messages: [{ role: "user", content: "hi" }] }),
      });
      expect(reply.status).toBe(200);
    } finally {
      child.kill();
      await child.exited;
    }
    return child.stderr.split("\n").filter((line) => line.startsWith("LOADED ")).length;
  }

  it("is not loaded by a process that does not trace", async () => {
    const off = Object.fromEntries(Object.keys(collector.env).map((name) => [name, undefined]));
    expect(await loadedBy(off)).toBe(0);
    expect(await loadedBy({ ...collector.env, OTEL_SDK_DISABLED: "true" })).toBe(0);
    expect(await loadedBy(collector.env)).toBeGreaterThan(0);
  });
});

import { expect, it } from "vitest";
import { eventually, failure, json, OK, text, tooMany, withHeaders } from "@switchyard/testkit";
import type { Scene } from "../support/gateway-scene.ts";
import { forEachForm } from "../support/gateway-stage.ts";

const UNSUPPORTED = {
  message: "Unsupported value: 'temperature' does not support 0.2 with this model.",
  type: "invalid_request_error",
  param: "temperature",
  code: "unsupported_value",
};

const FORMS: readonly [string, string, string][] = [
  ["an object with a message", '{"message":"plain"}', "plain"],
  ["a list of details", '{"detail":[{"loc":["body","x"],"msg":"bad"}]}', "bad"],
  ["a list with one error", '[{"error":{"code":400,"message":"arr","status":"INVALID_ARGUMENT"}}]', "arr"],
  ["a string", '"just text"', "just text"],
  ["nothing", "", "Bad Request"],
  ["no JSON", '{"error":', ""],
];

forEachForm("a provider's error", {}, (stage) => {
  it.concurrent.for([false, true])(
    "BH-33 keeps a 400 of the caller's making, stream %s (E1, E7, P5)",
    async (stream) => {
      await using scene = await stage.scene();
      for (const upstream of [scene.A, scene.B]) upstream.answer(failure(400, UNSUPPORTED));
      const reply = await scene.ask({ stream, temperature: 0.2 });
      expect(reply.status).toBe(400);
      expect(reply.headers.get("content-type")).toBe("application/json");
      expect(reply.error).toEqual(UNSUPPORTED);
      expect(scene.counts).toEqual({ A: 1, B: 0 });
      await scene.ask({ stream });
      expect(scene.counts).toEqual({ A: 2, B: 0 });
    },
  );

  it.concurrent.for(FORMS)("BH-33 makes an error object of a 400 with %s", async ([, body, words]) => {
    await using scene = await stage.scene({ order: ["A"] });
    scene.A.answer(text(400, body));
    const reply = await scene.ask();
    expect(reply.status).toBe(400);
    expect(reply.error.message).toContain(words);
    expect(reply.error.message).not.toContain("[object Object]");
    expect(reply.error.message).not.toBe("");
    expect(reply.error.type).toEqual(expect.any(String));
  });

  it.concurrent("BH-33 wraps a proxy's HTML page in a short error, and the log tells whose 502 it is", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    const page = `<html><body>502 Bad Gateway</body>${"<p>padding</p>".repeat(1_000)}</html>`;
    scene.A.answer(text(502, page, "text/html"));
    const reply = await scene.ask();
    expect(reply.status).toBe(502);
    expect(reply.headers.get("content-type")).toBe("application/json");
    expect(reply.error.message).toEqual(expect.any(String));
    expect(reply.bytes.length).toBeLessThan(1_500);
    expect(reply.attempts).toMatchObject([{ status: 502, error: "server_error" }]);
    // The gateway's own 502: the provider's answer could not be used.
    await using own = await stage.scene({ order: ["A"] });
    own.A.answer(text(200, "no json", "application/json"));
    expect((await own.ask()).status).toBe(502);
    await eventually(() => {
      const of = ({ gateway, group }: Scene): string =>
        gateway
          .logs()
          .split("\n")
          .findLast((line) => line.includes(`"${group}"`) && line.includes('"request"')) ?? "";
      expect(of(scene)).toMatch(/"status":502/);
      expect(of(scene)).toMatch(/m-A=server_error/);
      expect(of(own)).toMatch(/"status":502/);
      expect(of(own)).toMatch(/m-A=invalid_response/);
    });
  });

  const AZURE = { A: { family: "azure_openai", api_version: "2024-10-21" } };

  it.concurrent("BH-35 hands on when to come back and whose words they are (E7)", async () => {
    await using scene = await stage.scene({ order: ["A"], providers: AZURE });
    scene.A.answer(
      tooMany({
        "Retry-After": "7",
        "retry-after-ms": "6900",
        "x-ratelimit-remaining-requests": "0",
        "x-ms-region": "West",
        "x-request-id": "up-1",
        "x-should-retry": "false",
      }),
    );
    const reply = await scene.ask();
    expect(reply.status).toBe(429);
    const seconds = Number(reply.headers.get("retry-after"));
    expect(seconds).toBeGreaterThanOrEqual(6);
    expect(seconds).toBeLessThanOrEqual(7);
    expect(reply.headers.get("retry-after-ms")).toBe("6900");
    expect(reply.headers.get("x-ratelimit-remaining-requests")).toBe("0");
    expect(reply.headers.get("x-should-retry")).toBe("false");
    const own = reply.headers.get("x-request-id");
    expect(own).not.toBeNull();
    expect(own).not.toBe("up-1");
    expect(
      [...reply.headers].filter(([name, value]) => name !== "x-request-id" && value === "up-1"),
    ).toHaveLength(1);
    expect(scene.counts).toEqual({ A: 1 });
    const [call] = scene.A.calls;
    expect(call?.path).toBe("/openai/deployments/m-A/chat/completions?api-version=2024-10-21");
    expect(call?.headerValues("api-key")).toHaveLength(1);
    expect(call?.header("authorization")).toBeUndefined();
  });

  it.concurrent("BH-35 takes rate-limit headers from the deployment that served", async () => {
    await using scene = await stage.scene();
    scene.A.answer(tooMany({ "Retry-After": "7", "x-ratelimit-remaining-requests": "0" }));
    scene.B.answer(withHeaders(OK("b"), { "x-ratelimit-remaining-requests": "41" }));
    const reply = await scene.ask();
    expect(reply.content).toBe("b");
    expect(reply.headers.get("retry-after")).toBeNull();
    expect(reply.headers.get("retry-after-ms")).toBeNull();
    expect(reply.headers.get("x-ratelimit-remaining-requests")).toBe("41");
  });

  it.concurrent("E7 gives the last provider's answer when all failed", async () => {
    await using scene = await stage.scene();
    scene.A.answer(failure(500, { message: "a broke" }));
    scene.B.answer(
      json(503, { error: { message: "b is full", type: "server_error", code: "full", param: null } }),
    );
    const reply = await scene.ask();
    expect(reply.status).toBe(503);
    expect(reply.error).toMatchObject({ message: "b is full", code: "full" });
    expect(reply.attempts.map(({ status }) => status)).toEqual([500, 503]);
  });

  it.concurrent("H1 names each attempt, and messages are ASCII and short", async () => {
    await using scene = await stage.scene();
    scene.A.answer(failure(500, { message: `ünlucky ${"x".repeat(500)}` }));
    scene.B.answer(OK("b"));
    const { attempts, headers } = await scene.ask();
    expect(headers.get("x-ants-attempts")).toMatch(/^[\x20-\x7e]+$/);
    expect(attempts).toMatchObject([
      { deployment: expect.stringMatching(/\/m-A$/) as string, status: 500, error: "server_error" },
      { deployment: expect.stringMatching(/\/m-B$/) as string, outcome: "ok", status: 200 },
    ]);
    expect(attempts[0]?.message?.length).toBeLessThanOrEqual(200);
    expect(attempts[1]).not.toHaveProperty("error");
  });
});

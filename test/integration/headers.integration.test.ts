import { expect, it } from "vitest";
import { json, OK, raw, rawHttp, rawRequest, withHeaders } from "@switchyard/testkit";
import { CANARIES } from "../support/gateway-scene.ts";
import { forEachForm } from "../support/gateway-stage.ts";

const NEVER = ["x-hop-secret", "proxy-authorization", "te", "upgrade", "keep-alive", "cookie", "expect"];

forEachForm("headers", {}, (stage) => {
  it.concurrent("BH-36 stop at the gateway where they are the connection's or the caller's (P9)", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    const body = Buffer.from(JSON.stringify(scene.body()));
    const head = rawRequest("POST", "/v1/chat/completions", [
      ["Host", "gateway.example"],
      ["Connection", "keep-alive, X-Hop-Secret"],
      ["X-Hop-Secret", "hop-123"],
      ["Proxy-Authorization", "Basic cHJveHk6cHc="],
      ["TE", "trailers"],
      ["Upgrade", "h2c"],
      ["Keep-Alive", "timeout=9"],
      ["Authorization", `Bearer ${scene.key}`],
      ["x-api-key", scene.key],
      ["Cookie", "sid=abc"],
      ["Expect", "100-continue"],
      ["Content-Type", "application/json"],
      ["Content-Length", String(body.length)],
    ]);
    await using client = await rawHttp(scene.port, [head, body], { gapMs: 100 });
    const reply = await client.response();
    expect(reply.status).toBe(200);
    const [call] = await scene.A.waitForCalls(1);
    for (const name of NEVER) expect(call?.headerValues(name)).toEqual([]);
    expect(JSON.stringify(call?.headers)).not.toContain(scene.key);
    expect(call?.body.includes(scene.key)).toBe(false);
    expect(call?.headerValues("authorization")).toEqual([`Bearer ${CANARIES.A}`]);
    expect(call?.headerValues("x-api-key")).toEqual([]);
    expect(call?.headerValues("host")).toEqual([`127.0.0.1:${scene.A.port}`]);
    expect(call?.headerValues("content-length")).toEqual([String(call?.body.length)]);
    expect(call?.headerValues("transfer-encoding")).toEqual([]);
  });

  it.concurrent("BH-36 of the provider's connection do not reach the caller, whose own connection stays", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    const content = JSON.stringify({
      choices: [{ index: 0, message: { role: "assistant", content: "hi" } }],
    });
    scene.A.answer(
      raw(
        200,
        [
          ["Connection", "close, X-Up-Hop"],
          ["X-Up-Hop", "z"],
          ["Content-Type", "application/json"],
          ["Set-Cookie", "up=1"],
          ["Trailer", "X-T"],
        ],
        [content],
        { framing: "chunked", trailers: [["X-T", "1"]] },
      ),
    );
    const request = rawRequest(
      "POST",
      "/v1/chat/completions",
      [["Authorization", `Bearer ${scene.key}`]],
      JSON.stringify(scene.body()),
    );
    await using client = await rawHttp(scene.port, request);
    for (let count = 0; count < 2; count += 1) {
      if (count > 0) await client.send(request);
      const reply = await client.response();
      expect(reply.status).toBe(200);
      for (const name of ["x-up-hop", "set-cookie", "trailer"]) expect(reply.header(name)).toBeUndefined();
      expect(reply.header("connection") ?? "keep-alive").not.toContain("close");
      expect(reply.trailers).toEqual([]);
      expect(reply.body.toString()).toBe(content);
    }
    expect(scene.counts).toEqual({ A: 2 });
  });

  it.concurrent("H2 keep the caller's request id, which has to be fit for a header", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    const named = await scene.ask({}, { headers: { "x-request-id": "my-request-17" } });
    expect(named.headers.get("x-request-id")).toBe("my-request-17");
    const unnamed = await scene.ask();
    expect(unnamed.headers.get("x-request-id")).toMatch(/^[\x21-\x7e]{8,}$/);
  });

  it.concurrent("E9 a caller's own provider key goes to its provider alone and into no log", async () => {
    await using scene = await stage.scene();
    const own = "sk-own-5f3b1c7e99aa";
    scene.A.answer(withHeaders(json(500, { error: { message: `bad ${own}`, type: "server_error" } }), {}));
    scene.B.answer(OK("b"));
    const provider =
      /up-b-[\da-f]+-\d+/.exec((await scene.ask()).headers.get("x-ants-attempts") ?? "")?.[0] ?? "";
    scene.B.clearCalls();
    scene.A.clearCalls();
    const reply = await scene.ask({}, { headers: { "x-provider-key": `${provider}=${own}` } });
    expect(reply.content).toBe("b");
    expect(scene.counts).toEqual({ A: 0, B: 1 });
    expect(scene.B.calls[0]?.headerValues("authorization")).toEqual([`Bearer ${own}`]);
    expect(scene.B.calls[0]?.header("x-provider-key")).toBeUndefined();
    expect(scene.gateway.logs()).not.toContain(own);
  });
});

import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { expect, it } from "vitest";
import {
  CH,
  DONE,
  encoded,
  failure,
  json,
  OK,
  raw,
  rawHttp,
  rawRequest,
  ROLE,
  sse,
  text,
  until,
} from "@switchyard/testkit";
import type { Answer, Encoding } from "@switchyard/testkit";
import type { Scene } from "../support/gateway-scene.ts";
import { forEachForm } from "../support/gateway-stage.ts";

const CODINGS: readonly Encoding[] = ["gzip", "br", "deflate"];
const ACCEPTED = { "accept-encoding": "gzip, br" };
const NOT_FOUND = { message: "model: nope", type: "invalid_request_error" };

/** Asks on a bare socket, so that what is checked is what was on the wire. */
async function askRaw(scene: Scene, accept: boolean): Promise<{ status: number; body: string }> {
  const headers: [string, string][] = [["Authorization", `Bearer ${scene.key}`]];
  if (accept) headers.push(["Accept-Encoding", "gzip, br"]);
  const request = rawRequest("POST", "/v1/chat/completions", headers, JSON.stringify(scene.body()));
  await using client = await rawHttp(scene.port, request);
  const reply = await client.response();
  expect(reply.complete).toBe(true);
  expect(reply.header("content-encoding")).toBeUndefined();
  const length = reply.header("content-length");
  if (length !== undefined) expect(Number(length)).toBe(reply.body.length);
  return { status: reply.status, body: reply.body.toString() };
}

/** zstd's own example frame: one raw block. */
function zstdRawBlock(content: string): Buffer {
  const bytes = Buffer.from(content);
  const header = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x20, bytes.length]);
  const block = (bytes.length << 3) | 1;
  return Buffer.concat([header, Buffer.from([block & 0xff, (block >> 8) & 0xff, block >> 16]), bytes]);
}

forEachForm("bodies in a content coding", {}, (stage) => {
  it.concurrent("BH-38 come out plain whatever the provider's answer is", async () => {
    await using scene = await stage.scene({ order: ["A"], policy: { bench: { failures: 0 } } });
    for (const coding of CODINGS) {
      for (const accept of [true, false]) {
        scene.A.answer(encoded(coding, failure(404, NOT_FOUND)));
        const missing = await askRaw(scene, accept);
        expect(missing.status).toBe(404);
        expect(JSON.parse(missing.body)).toMatchObject({ error: NOT_FOUND });
        scene.A.answer(encoded(coding, OK("plain")));
        const found = await askRaw(scene, accept);
        expect(found.status).toBe(200);
        expect(found.body).toContain('"content":"plain"');
        scene.A.answer(encoded(coding, failure(500, { message: "broke" })));
        expect(JSON.parse((await askRaw(scene, accept)).body)).toMatchObject({ error: { message: "broke" } });
      }
    }
  });

  it.concurrent.for(CODINGS)("BH-38 give each event of a %s stream when it was flushed", async (coding) => {
    await using scene = await stage.scene({ order: ["A"] });
    const more = Promise.withResolvers<void>();
    scene.A.answer(
      encoded(coding, sse([ROLE, CH({ content: "first" }), until(more.promise), CH({}, "stop"), DONE])),
    );
    const response = await scene.send({ stream: true }, { headers: ACCEPTED });
    expect(response.headers.get("content-encoding")).toBeNull();
    let seen = "";
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      seen += decoder.decode(bytes, { stream: true });
      // The rest is sent only once the first event has come through.
      if (seen.includes("first")) more.resolve();
    }
    expect(seen).toContain('"finish_reason":"stop"');
    expect(seen).toContain("[DONE]");
  });

  it.concurrent("BH-38 that are empty or only claim a coding end in an error, not in a hang", async () => {
    await using scene = await stage.scene({ order: ["A"], policy: { bench: { failures: 0 } } });
    const claims: readonly Answer[] = [
      raw(200, { "Content-Type": "application/json", "Content-Encoding": "gzip" }, [gzipSync("")]),
      text(200, '{"choices":[]}', "application/json", { "Content-Encoding": "gzip" }),
    ];
    for (const claim of claims) {
      scene.A.answer(claim);
      const reply = await scene.ask();
      expect(reply.status).toBe(502);
      expect(reply.error).toMatchObject({ type: "server_error" });
      expect(reply.ms).toBeLessThan(10_000);
    }
    scene.A.answer(
      text(404, JSON.stringify({ error: NOT_FOUND }), "application/json", { "Content-Encoding": "gzip" }),
    );
    const reply = await scene.ask();
    expect(reply.status).toBe(404);
    expect(reply.error.message).toEqual(expect.any(String));
  });

  it.concurrent("BH-39 are decoded before anything looks at them", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    const small = JSON.stringify({ model: scene.model, messages: [], stream: false });
    const large = JSON.stringify({
      model: scene.model,
      stream: false,
      messages: [{ role: "user", content: "A".repeat(200_000) }],
    });
    const legs: readonly [string, Buffer, string][] = [
      ["zstd", zstdRawBlock(small), small],
      ["zstd", zstdCompressSync(Buffer.from(large)), large],
      ["gzip", gzipSync(small), small],
      ["br", brotliCompressSync(small), small],
      ["deflate", deflateSync(small), small],
      ["identity", Buffer.from(small), small],
    ];
    expect(legs[0]?.[1].includes('"model"')).toBe(true);
    for (const [coding, bytes, plain] of legs) {
      scene.A.clearCalls();
      const reply = await scene.ask(new Uint8Array(bytes), { headers: { "content-encoding": coding } });
      expect(reply.status).toBe(200);
      const [call] = await scene.A.waitForCalls(1);
      expect(call?.body.toString()).toBe(plain.replace(`"${scene.model}"`, '"m-A"'));
      expect(call?.header("content-encoding")).toBeUndefined();
      expect(call?.header("content-length")).toBe(String(call?.body.length));
      expect(scene.counts).toEqual({ A: 1 });
    }
  });

  it.concurrent("BH-39 that are damaged, or in an unknown coding, are refused before any call", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    const cut = zstdRawBlock(JSON.stringify(scene.body())).subarray(0, 30);
    const damaged = await scene.ask(new Uint8Array(cut), { headers: { "content-encoding": "zstd" } });
    expect(damaged.status).toBe(400);
    expect(damaged.error).toMatchObject({ code: "invalid_encoding" });
    const unknown = await scene.ask({}, { headers: { "content-encoding": "zebra" } });
    expect(unknown.status).toBe(415);
    expect(unknown.error).toMatchObject({ code: "unsupported_encoding" });
    expect(scene.counts).toEqual({ A: 0 });
  });

  it.concurrent("P1 unknown fields and their digits go through as they came (BH-28)", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    const body = `{ "metadata":{"trace":12345678901234567890}, "model" : "${scene.model}",\n"messages":[], "f":1.10 }`;
    scene.A.answer(json(200, { choices: [{ index: 0, message: { role: "assistant", content: "x" } }] }));
    expect((await scene.ask(body)).status).toBe(200);
    expect(scene.A.calls[0]?.body.toString()).toBe(body.replace(`"${scene.model}"`, '"m-A"'));
  });
});

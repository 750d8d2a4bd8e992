import { setTimeout as sleep } from "node:timers/promises";
import { createGunzip } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import {
  asAsked,
  CH,
  collectSse,
  createScriptedProvider,
  cutAt,
  DONE,
  delayed,
  endlessLine,
  drip,
  type Encoding,
  EOF,
  encoded,
  eventually,
  FIN,
  FLUSH,
  flood,
  floodText,
  HANG,
  HEADERS_THEN_HANG,
  HEALTHY,
  json,
  NEXT,
  OK,
  paced,
  RESET,
  ROLE,
  RST,
  raw,
  rawHttp,
  rawRequest,
  resetFirst,
  resetReused,
  type ScriptedProvider,
  sse,
  text,
  until,
} from "../src/index.ts";

let provider: ScriptedProvider;

beforeEach(async () => {
  provider = await createScriptedProvider();
});

afterEach(async () => {
  await provider.close();
});

const post = (body = "{}") =>
  rawRequest(
    "POST",
    "/v1/chat?x=%20y",
    [
      ["X-One", "1"],
      ["x-one", "2"],
    ],
    body,
  );

async function ask(bytes: Buffer = post()) {
  const client = await rawHttp(provider.port, bytes);
  const answer = await client.response();
  await client.close();
  return answer;
}

describe("bodies", () => {
  it("OK is the chat completion of the cases", async () => {
    const answer = await ask();
    expect(answer.headers).toEqual([
      ["Content-Type", "application/json"],
      ["Content-Length", String(answer.body.length)],
    ]);
    expect(answer.body.toString()).toBe(
      '{"id":"c1","object":"chat.completion","created":1700000000,"model":"up-model","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}',
    );
  });

  it("HEALTHY streams role, text, stop and DONE to an ordinary client", async () => {
    provider.answer(HEALTHY("hé"));
    const got = await collectSse(await fetch(provider.url));
    expect(got).toMatchObject({ text: "hé", done: true, errors: [] });
    expect(got.bytes.toString()).toBe(ROLE + CH({ content: "hé" }, null) + CH({}, "stop") + DONE);
  });

  it("‖ waits 30 ms, and strings next to each other are one write", async () => {
    provider.answer(sse(["data: 1\n\n", "data: 2\n\n", FLUSH, "data: 3\n\n", EOF]));
    const { events } = await collectSse(await fetch(provider.url));
    const [one, two, three] = events.map((event) => event.at ?? 0);
    expect(two).toBe(one);
    expect((three ?? 0) - (two ?? 0)).toBeGreaterThan(15);
  });

  it("BH-13: cuts at byte offsets, then byte by byte", async () => {
    const event = CH({ content: "你好 🌍" }, null);
    provider.answer(sse([...cutAt(event, [120, 124, 126]), ...drip(event), DONE]));
    expect((await collectSse(await fetch(provider.url))).text).toBe("你好 🌍你好 🌍");
  });

  it("until lets the test decide when the answer goes on", async () => {
    const gate = Promise.withResolvers<void>();
    provider.answer(sse(["data: 1\n\n", until(gate.promise), DONE]));
    const response = await fetch(provider.url);
    expect(provider.calls[0]?.answeredAt).toBeUndefined();
    gate.resolve();
    expect((await collectSse(response)).done).toBe(true);
  });

  it("BH-36: custom hop headers, trailers and close", async () => {
    provider.answer(
      raw(
        200,
        [
          ["Connection", "close, X-Up-Hop"],
          ["X-Up-Hop", "z"],
          ["Trailer", "X-T"],
        ],
        ["body"],
        {
          trailers: { "X-T": "1" },
        },
      ),
    );
    const client = await rawHttp(provider.port, post());
    const answer = await client.response();
    expect(answer.header("x-up-hop")).toBe("z");
    expect(answer.trailers).toEqual([["X-T", "1"]]);
    expect(answer.body.toString()).toBe("body");
    expect(await client.closed).toBe("end");
    await eventually(() => expect(provider.calls[0]?.closedHow).toBe("end"));
  });

  it.each<Encoding>(["gzip", "br", "deflate", "zstd"])("BH-38: %s JSON and SSE decode", async (coding) => {
    provider.script([encoded(coding, json(404, { a: 1 })), encoded(coding, HEALTHY("z"))]);
    const response = await fetch(provider.url);
    expect([response.status, await response.json()]).toEqual([404, { a: 1 }]);
    expect((await collectSse(await fetch(provider.url))).text).toBe("z");
  });

  it("BH-38: an encoded event can be decoded as soon as it was flushed", async () => {
    provider.answer(encoded("gzip", sse(["data: 1\n\n", HANG])));
    const gunzip = createGunzip();
    const client = await rawHttp(provider.port, post(), { onBody: (chunk) => gunzip.write(chunk) });
    const [first] = (await gunzip
      .iterator({ destroyOnReturn: false })
      .next()
      .then((r) => [r.value])) as [Buffer];
    expect(first.toString()).toBe("data: 1\n\n");
    gunzip.destroy();
    await client.close();
  });

  it("keeps a wrong Content-Encoding and a wrong Content-Length as told", async () => {
    provider.answer(text(200, "plain", "text/plain", { "Content-Encoding": "gzip", "Content-Length": "3" }));
    const answer = await ask();
    expect([answer.header("content-encoding"), answer.body.toString()]).toEqual(["gzip", "pla"]);
  });

  it("delayed waits before the head, asAsked looks at the request", async () => {
    provider.script([delayed(40, OK("a")), asAsked("b")]);
    const from = performance.now();
    await ask();
    expect(performance.now() - from).toBeGreaterThan(35);
    expect((await ask(post('{"stream":true}'))).header("content-type")).toBe("text/event-stream");
    expect((await ask(post("{}"))).header("content-type")).toBe("application/json");
  });

  it("BH-41: paced and wait keep their distance", async () => {
    provider.answer(sse([...paced(25, [": ping\n\n", ": ping\n\n", "data: 1\n\n"]), DONE]));
    const from = performance.now();
    const { comments, events } = await collectSse(await fetch(provider.url));
    expect(comments).toEqual(["ping", "ping"]);
    expect((events[0]?.at ?? 0) - from).toBeGreaterThan(45);
  });

  it("BH-42: an endless line has no line end", async () => {
    provider.answer(sse([endlessLine(2), HANG]));
    const client = await rawHttp(provider.port, post(), { keepBody: false });
    await eventually(() => expect(client.received).toBeGreaterThan(2 << 20));
    await client.close();
  });

  it("HEAD has the headers only", async () => {
    const client = await rawHttp(provider.port, rawRequest("HEAD", "/", []), { head: true });
    const answer = await client.response();
    expect([answer.status, answer.body.length]).toEqual([200, 0]);
    await client.close();
  });
});

describe("ends", () => {
  it("RST resets after the bytes before it have arrived", async () => {
    provider.answer(sse([ROLE, FLUSH, RST]));
    const got = await collectSse(await fetch(provider.url));
    expect(got.events).toHaveLength(1);
    expect(got.failure).toBeDefined();
    await eventually(() => expect(provider.calls[0]?.closedHow).toBe("reset"));
  });

  it("FIN cuts a body in order", async () => {
    provider.answer(sse([ROLE, FIN]));
    const answer = await ask();
    expect([answer.complete, answer.body.toString()]).toEqual([false, ROLE]);
  });

  it("EOF ends cleanly and keeps the connection", async () => {
    provider.answer(sse([ROLE, NEXT, EOF]));
    const client = await rawHttp(provider.port, post());
    expect((await client.response()).complete).toBe(true);
    await client.send(post());
    expect((await client.response()).complete).toBe(true);
    await client.close();
  });

  it("HANG sends the headers and then nothing", async () => {
    provider.answer(HEADERS_THEN_HANG);
    const client = await rawHttp(provider.port, post());
    expect((await client.head()).status).toBe(200);
    await expect(client.response(50)).rejects.toThrow("answer not complete");
    await client.close();
  });

  it("BH-40: closes idle connections", async () => {
    provider.keepAliveMs = 40;
    const client = await rawHttp(provider.port, post());
    await client.response();
    expect(await client.closed).toBe("end");
    await eventually(() => expect(provider.calls[0]?.closedHow).toBe("end"));
  });

  it("BH-40 X: resets a reused connection at the head", async () => {
    provider.onHeaders(resetReused);
    const client = await rawHttp(provider.port, post());
    expect((await client.response()).status).toBe(200);
    await client.send(rawRequest("POST", "/", [["Content-Length", "9"]], ""));
    await expect(client.response()).rejects.toThrow("closed before an answer");
    expect(provider.calls[1]).toMatchObject({ received: false, closedHow: "reset" });
  });

  it("BH-40 Y: reads the first request of a connection, then resets", async () => {
    provider.answer(resetFirst(OK("a")));
    const client = await rawHttp(provider.port, post("{}"));
    await expect(client.response()).rejects.toThrow("closed before an answer");
    expect(provider.calls[0]).toMatchObject({ received: true, bytesAccepted: 0 });
  });

  it("RESET gives no byte", async () => {
    provider.answer(RESET);
    const client = await rawHttp(provider.port, post());
    expect(await client.closed).toBe("error");
    expect(client.received).toBe(0);
  });
});

describe("BH-42: a flood", () => {
  it("stops at a reader that stops, and is whole and in order once it reads on", async () => {
    const events = 24 * 1024;
    provider.answer(sse([flood(events, (content) => CH({ content }, null)), DONE]));
    let tail = "";
    let next = 0;
    const onBody = (chunk: Buffer) => {
      const parts = (tail + chunk.toString("latin1")).split("\n\n");
      tail = parts.pop() ?? "";
      for (const part of parts) {
        if (part.includes(floodText(next))) next += 1;
      }
    };
    const client = await rawHttp(provider.port, post(), {
      pauseAfterHead: true,
      receiveBuffer: 16 * 1024,
      keepBody: false,
      onBody,
    });
    await client.head();
    const accepted = () => provider.calls[0]?.bytesAccepted ?? 0;
    let before = -1;
    await eventually(async () => {
      before = accepted();
      await sleep(60);
      expect(accepted()).toBe(before);
    });
    expect(before).toBeLessThan(12 << 20);
    client.resume();
    expect((await client.response(20_000)).complete).toBe(true);
    expect(next).toBe(events);
    expect(accepted()).toBeGreaterThan(24 << 20);
    await client.close();
  });
});

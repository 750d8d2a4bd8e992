import { setImmediate as turn } from "node:timers/promises";
import { failure } from "@switchyard/rpc";
import { CH, collectSse, DONE, eventually, rawRequest, within } from "@switchyard/testkit";
import { expect, test } from "vitest";
import { type Bench, chunk, echo, errorOf, forEachLane, head, JSON_TYPE, SSE, TRAILER } from "./support.ts";

const CHAT = "/v1/chat/completions";
const BROKEN = failure("upstream_unreachable", "the provider's answer broke off", { status: 502 });

const ask = (path = CHAT): Buffer => rawRequest("POST", path, [], "{}");

async function firstCall(b: Bench): Promise<Bench["received"][number]> {
  await eventually(() => expect(b.received).toHaveLength(1));
  return b.received[0] ?? expect.unreachable();
}

forEachLane((bench) => {
  test("an answer in one turn has a length; one over several turns comes piece by piece", async () => {
    await using b = await bench();
    b.handler = (_request, sink) => {
      sink.send(head(200, JSON_TYPE));
      for (const piece of ["[1", ",2", "]"]) sink.send(chunk(piece));
      sink.send(TRAILER);
      sink.end();
    };
    const whole = await b.ask("POST", CHAT, [], "{}");
    expect([whole.body.toString(), whole.header("content-length")]).toEqual(["[1,2]", "5"]);
    b.handler = () => {};
    b.received.length = 0;
    const pieces: string[] = [];
    const client = await b.open(ask(), { onBody: (piece) => pieces.push(piece.toString()) });
    const { sink } = await firstCall(b);
    sink.send(head(200, SSE));
    expect((await client.head()).headers).toEqual(
      expect.arrayContaining([
        ["x-accel-buffering", "no"],
        ["Transfer-Encoding", "chunked"],
      ]),
    );
    sink.send(chunk(CH({ content: "a" })));
    await eventually(() => expect(pieces).toEqual([CH({ content: "a" })]));
    sink.send(chunk(CH({ content: "b" })));
    sink.send(chunk(DONE));
    await eventually(() => expect(pieces.slice(1)).toEqual([CH({ content: "b" }) + DONE]));
    sink.end();
    expect((await client.response()).complete).toBe(true);
  });

  test("BH-13: bytes cut anywhere pass unchanged", async () => {
    await using b = await bench();
    const event = Buffer.from(CH({ content: "你好 🌍" }));
    b.handler = (_request, sink) => {
      sink.send(head(200, SSE));
      void (async () => {
        for (const byte of event) {
          await turn();
          sink.send(chunk(Uint8Array.of(byte)));
        }
        sink.end();
      })();
    };
    expect((await b.ask("POST", CHAT, [], "{}")).body.equals(event)).toBe(true);
  });

  test.each([
    ["the head's turn", 0],
    ["a later turn", 1],
  ])(
    "E6, BH-16: a chat stream that breaks in %s ends with an error event and no [DONE]",
    async (_name, turns) => {
      await using b = await bench();
      b.handler = (_request, sink) => {
        sink.send(head(200, SSE));
        sink.send(chunk(`${CH({ content: "Half an ans" })}data: {"id":`));
        void (async () => {
          for (let at = 0; at < turns; at += 1) await turn();
          sink.fail(BROKEN);
          sink.send(chunk(DONE));
          sink.end();
        })();
      };
      const answer = await b.ask("POST", CHAT, [], "{}");
      expect([answer.status, answer.complete]).toEqual([200, true]);
      const body = answer.body.toString();
      expect(body).toContain("Half an ans");
      expect(body).not.toContain("[DONE]");
      expect(body).toContain('data: {"id":\n\ndata: {"error":{"message":"the provider');
      expect(body.endsWith("}\n\n")).toBe(true);
    },
  );

  test("E6, BH-16: the error event is in the path's dialect", async () => {
    await using b = await bench();
    b.handler = (_request, sink) => {
      sink.send(head(200, SSE));
      sink.send(chunk('event: x\ndata: {"sequence_number":4}\n\n'));
      setImmediate(() => sink.fail(BROKEN));
    };
    const messages = (await b.ask("POST", "/v1/messages", [["x-request-id", "r-1"]], "{}")).body.toString();
    expect(messages.split("\n\n")[1]).toBe(
      'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"the provider\'s answer broke off"},"request_id":"r-1"}',
    );
    const responses = (await b.ask("POST", "/v1/responses", [], "{}")).body.toString();
    expect(responses.split("\n\n")[1]).toContain('"code":"upstream_unreachable"');
    expect(responses.split("\n\n")[1]).toContain('"sequence_number":5');
  });

  test("BH-16: a plain answer that breaks off is a cut, or an error while nothing went out", async () => {
    await using b = await bench();
    b.handler = (_request, sink) => {
      sink.send(head(200, JSON_TYPE));
      sink.send(chunk('{"half'));
      setImmediate(() => setImmediate(() => sink.fail(BROKEN)));
    };
    const cut = await b.ask("POST", CHAT, [], "{}");
    expect([cut.status, cut.complete]).toEqual([200, false]);
    b.handler = (_request, sink) => {
      sink.send(head(200, JSON_TYPE));
      sink.send(chunk('{"half'));
      sink.fail(BROKEN);
    };
    const refused = await b.ask("POST", CHAT, [], "{}");
    expect([refused.status, errorOf(refused)["code"]]).toEqual([502, "upstream_unreachable"]);
  });

  test("BH-38: a length that the head told is kept, and an answer that does not keep it is cut", async () => {
    await using b = await bench();
    for (const [body, complete] of [
      ["12345", true],
      ["123", false],
      ["1234567", false],
    ] as const) {
      b.handler = (_request, sink) => {
        sink.send(head(200, { "content-length": "5", "content-type": "application/json" }));
        setImmediate(() => {
          sink.send(chunk(body));
          sink.end();
        });
      };
      const answer = await b.ask("POST", CHAT, [], "{}");
      expect([answer.header("content-length"), answer.complete]).toEqual(["5", complete]);
    }
  });

  test.each([204, 304])("an answer of status %i has no body", async (status) => {
    await using b = await bench();
    b.handler = (_request, sink) => {
      sink.send(head(status));
      sink.send(chunk("surplus"));
      sink.end();
    };
    const client = await b.open(ask());
    expect((await client.response()).status).toBe(status);
    b.handler = echo;
    await client.send(ask());
    expect((await client.response()).body.toString()).toBe("{}");
  });

  test("a head that cannot be passed on, a missing one and a thrown error are errors of ours", async () => {
    await using b = await bench();
    b.handler = (_request, sink) => {
      sink.send(head(200, { "x-name": "\u4f60" }));
      sink.end();
    };
    expect((await b.ask("POST", CHAT, [], "{}")).status).toBe(502);
    b.handler = (_request, sink) => sink.end();
    expect((await b.ask("POST", CHAT, [], "{}")).status).toBe(500);
    b.handler = () => {
      throw new Error("secret");
    };
    const thrown = await b.ask("POST", CHAT, [], "{}");
    expect(thrown.status).toBe(500);
    expect(thrown.body.toString()).not.toContain("secret");
  });

  test.each(["close", "reset"] as const)(
    "BH-18: a caller that leaves (%s) cancels its call at once",
    async (how) => {
      await using b = await bench();
      b.handler = () => {};
      const client = await b.open(ask());
      const entry = await firstCall(b);
      const before = performance.now();
      if (how === "reset") client.reset();
      else await client.close();
      await eventually(() => expect(entry.call.cancelled).toBe(true));
      expect((entry.leftAt ?? Number.NaN) - before).toBeLessThan(2_000);
      expect(entry.sink.send(chunk("x"))).toBe(false);
      entry.sink.fail(BROKEN);
    },
  );

  test("BH-18: a caller that leaves in the middle of its body makes no call; a good end cancels nothing", async () => {
    await using b = await bench({ maxConcurrentRequests: 1 });
    const client = await b.open(rawRequest("POST", CHAT, [["Content-Length", "9"]], "12345"));
    await client.close();
    await eventually(async () => expect((await b.ask("POST", CHAT, [], "{}")).status).toBe(200));
    expect(b.received).toHaveLength(1);
    expect(b.received[0]?.call.cancelled).toBe(false);
  });

  test("BH-18: a caller that leaves cancels the calls of pipelined requests too", async () => {
    await using b = await bench();
    b.handler = () => {};
    const client = await b.open(Buffer.concat([ask(), ask()]));
    await eventually(() => expect(b.received).toHaveLength(2));
    await client.close();
    await eventually(() => expect(b.received.every(({ call }) => call.cancelled)).toBe(true));
  });

  test("pipelined requests are answered in order", async () => {
    await using b = await bench();
    b.handler = () => {};
    const client = await b.open(Buffer.concat([ask(), ask()]));
    await eventually(() => expect(b.received).toHaveLength(2));
    for (const [at, { sink }] of [...b.received.entries()].toReversed()) {
      sink.send(head(200, JSON_TYPE));
      sink.send(chunk(String(at)));
      sink.end();
      await turn();
    }
    expect((await client.response()).body.toString()).toBe("0");
    expect((await client.response()).body.toString()).toBe("1");
  });

  test("BH-42: a reader that stops holds the producer up, and gets all bytes in order when it reads on", async () => {
    await using b = await bench();
    const block = Buffer.alloc(32 * 1024);
    let sent = 0;
    let drains = 0;
    const total = 512;
    b.handler = (_request, sink) => {
      const pump = (): void => {
        while (sent < total) {
          block.fill(sent % 251);
          sent += 1;
          if (!sink.send(chunk(block))) return;
        }
        sink.end();
      };
      sink.onDrain(() => {
        drains += 1;
        pump();
      });
      sink.send(head(200, SSE));
      pump();
    };
    let got = 0;
    let ordered = true;
    const client = await b.open(ask(), {
      pauseAfterHead: true,
      keepBody: false,
      onBody(piece) {
        for (const byte of piece) {
          ordered &&= byte === Math.floor(got / block.length) % 251;
          got += 1;
        }
      },
    });
    await client.head();
    let before = -1;
    await eventually(
      () => {
        const settled = sent === before;
        before = sent;
        expect(settled).toBe(true);
      },
      { every: 50 },
    );
    expect(sent * block.length).toBeLessThan(8 * 1024 * 1024);
    client.resume();
    expect((await client.response(10_000)).complete).toBe(true);
    expect([got, ordered]).toEqual([total * block.length, true]);
    expect(drains).toBeGreaterThan(0);
  });

  test("BH-42: a reader that takes nothing is dropped and its call cancelled; one whose answer is late is not", async () => {
    await using b = await bench({ stallTimeoutMs: 150 });
    b.handler = (_request, sink) => {
      const pump = (): void => {
        while (sink.send(chunk(Buffer.alloc(64 * 1024))));
      };
      sink.onDrain(pump);
      sink.send(head(200, SSE));
      pump();
    };
    const stalled = await b.open(ask(), { pauseAfterHead: true });
    const entry = await firstCall(b);
    await eventually(() => expect(entry.call.cancelled).toBe(true));
    stalled.resume();
    await stalled.closed;
    b.handler = (_request, sink) => {
      setTimeout(() => {
        sink.send(head(200, JSON_TYPE));
        sink.send(chunk("late"));
        sink.end();
      }, 400);
    };
    expect((await b.ask("POST", CHAT, [], "{}")).body.toString()).toBe("late");
  });

  test("BH-40: an idle connection is kept beyond the time that the answer tells", async () => {
    await using b = await bench({ keepAliveTimeoutMs: 1000 });
    const client = await b.open(ask());
    const answer = await client.response();
    expect(answer.header("keep-alive")).toBe("timeout=1");
    const idle = within(1300, client.closed, () => "still open");
    await expect(idle).rejects.toThrow("still open");
    await client.send(ask());
    expect((await client.response()).status).toBe(200);
  });

  test("drain: streams finish, idle connections end soon, new ones are not taken", async () => {
    await using b = await bench();
    const idle = await b.open(ask());
    await idle.response();
    const fresh = await b.open("");
    b.received.length = 0;
    b.handler = () => {};
    const client = await b.open(ask());
    const { sink } = await firstCall(b);
    sink.send(head(200, SSE));
    sink.send(chunk(CH({ content: "a" })));
    await client.head();
    const late = await b.open(ask());
    await eventually(() => expect(b.received).toHaveLength(2));
    const closed = b.facade.close(10_000);
    await within(5000, Promise.all([idle.closed, fresh.closed]), () => "idle connections stay");
    await expect(b.open(ask())).rejects.toThrow("ECONNREFUSED");
    const second = b.received[1] ?? expect.unreachable();
    second.sink.send(head(200, JSON_TYPE));
    second.sink.send(chunk("{}"));
    second.sink.end();
    const answer = await late.response();
    expect([answer.header("connection"), answer.complete]).toEqual(["close", true]);
    sink.send(chunk(DONE));
    sink.end();
    const stream = await client.response();
    expect([stream.complete, stream.body.toString().endsWith(DONE)]).toEqual([true, true]);
    await within(1000, closed, () => "not closed");
    expect(await client.closed).toBe("end");
  });

  test("drain: a kept connection serves one more call; one that meets its end may be repeated", async () => {
    await using b = await bench();
    const [kept, idle] = [await b.open(ask()), await b.open(ask())];
    await Promise.all([kept.response(), idle.response()]);
    const half = await b.open(ask().subarray(0, 20));
    const closed = b.facade.close(10_000);
    await kept.send(ask());
    const last = await kept.response();
    expect([last.status, last.header("connection")]).toEqual([200, "close"]);
    for (const client of [idle, half]) {
      const farewell = await client.response();
      expect([farewell.status, farewell.header("connection"), farewell.body.length]).toEqual([
        408,
        "close",
        0,
      ]);
      expect(await client.closed).toBe("end");
    }
    expect(b.received).toHaveLength(3);
    await closed;
  });

  test("drain: what still runs after the grace is cancelled and told so in its dialect", async () => {
    await using b = await bench();
    b.handler = () => {};
    const stream = await b.open(ask());
    const { sink, call } = await firstCall(b);
    sink.send(head(200, SSE));
    sink.send(chunk(CH({ content: "a" })));
    await stream.head();
    const waiting = await b.open(ask("/v1/messages"));
    await eventually(() => expect(b.received).toHaveLength(2));
    await within(3000, b.facade.close(50), () => "not closed");
    const cut = await stream.response();
    expect(cut.complete).toBe(true);
    expect(cut.body.toString()).toContain('"code":"overloaded"');
    expect(cut.body.toString()).not.toContain("[DONE]");
    const refused = await waiting.response();
    expect([refused.status, errorOf(refused)["type"]]).toEqual([503, "overloaded_error"]);
    expect(call.cancelled).toBe(true);
  });

  test("an SDK's reader sees events and the error of a broken stream", async () => {
    await using b = await bench();
    b.handler = (_request, sink) => {
      sink.send(head(200, SSE));
      sink.send(chunk(CH({ content: "a" })));
      setImmediate(() => sink.fail(BROKEN));
    };
    const response = await fetch(`http://127.0.0.1:${b.port}${CHAT}`, { method: "POST", body: "{}" });
    const seen = await collectSse(response);
    expect([seen.text, seen.done, seen.errors.length, seen.failure]).toEqual(["a", false, 1, undefined]);
  });
});

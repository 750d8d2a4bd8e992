import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import {
  AE,
  CH,
  chatPayload,
  collectSse,
  DONE,
  embeddings,
  encodeBody,
  eventually,
  fakeClock,
  float32Base64,
  G,
  parseSse,
  SseParser,
  seededRandom,
  seededSeeds,
} from "../src/index.ts";

describe("the cases' shorthand", () => {
  it("CH, AE and G are byte exact", () => {
    expect(CH({ content: "x" }, null)).toBe(
      'data: {"id":"c1","object":"chat.completion.chunk","created":1700000000,"model":"up-model","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}\n\n',
    );
    expect(AE("ping", { type: "ping" })).toBe('event: ping\ndata: {"type":"ping"}\n\n');
    expect(G('{"a": 1}')).toBe('data: {"a": 1}\r\n\r\n');
  });

  it("BH-29: base64 vectors are little-endian float32", () => {
    expect(float32Base64([0.25, -1, 3.5])).toBe("AACAPgAAgL8AAGBA");
    expect(embeddings([[0.5, 2, 0]], { base64: true }).steps[0]).toContain('"embedding":"AAAAPwAAAEAAAAAA"');
    expect(embeddings([[1, 2]]).steps[0]).toContain('"embedding":[1,2]');
  });

  it("encodes an empty body as a valid one", async () => {
    expect((await encodeBody("gzip", new Uint8Array())).length).toBeGreaterThan(0);
  });
});

describe("parseSse", () => {
  it("takes LF, CRLF and CR, comments, and data without a space", () => {
    expect(parseSse(": hi\r\nevent: a\r\ndata:1\r\ndata: 2\r\n\r\ndata:  x\n\nid: 7\rdata: y\r\rz")).toEqual([
      { event: "a", data: "1\n2" },
      { event: undefined, data: " x" },
      { event: undefined, data: "y", id: "7" },
    ]);
  });

  it("gives the same events however the bytes are cut", () => {
    const bytes = Buffer.from(`: c\r\n\r\nevent: e\r\ndata: 你好 🌍\r\n\r\n${CH({ content: "é" })}${DONE}`);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 8 }), (cuts) => {
        const bounds = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
        const parser = new SseParser();
        const events = bounds.slice(1).flatMap((end, i) => parser.push(bytes.subarray(bounds[i] ?? 0, end)));
        expect(events).toEqual(parseSse(bytes));
        expect(parser.comments).toEqual(["c"]);
      }),
    );
  });

  it("collectSse keeps what came before a cut, and in-band errors", async () => {
    async function* stream() {
      yield Buffer.from(`${CH({ content: "a" })}data: {"error":{"message":"m"}}\n\n`);
      await Promise.resolve();
      throw new Error("cut");
    }
    const got = await collectSse(stream());
    expect(got).toMatchObject({
      text: "a",
      done: false,
      errors: [{ message: "m" }],
      failure: new Error("cut"),
    });
  });
});

describe("waiting and determinism", () => {
  it("eventually returns the value, or throws the last error", async () => {
    let tries = 0;
    const value = await eventually(
      () => {
        tries += 1;
        if (tries < 3) throw new Error("not yet");
        return tries;
      },
      { every: 1 },
    );
    expect(value).toBe(3);
    const failing = eventually(() => Promise.reject(new Error("still no")), { within: 10, every: 1 });
    await expect(failing).rejects.toThrow("still no");
  });

  it("the fake clock moves when told", () => {
    const clock = fakeClock(1000);
    clock.advance(250);
    expect(clock.now()).toBe(1250);
  });

  it("seededRandom repeats itself and stays in [0, 1)", () => {
    const draw = (seed: number) => Array.from({ length: 200 }, seededRandom(seed));
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
    expect(draw(7).every((value) => value >= 0 && value < 1)).toBe(true);
  });

  it("seededSeeds gives unsigned 32-bit seeds", () => {
    const [one, two] = [seededSeeds(3), seededSeeds(3)];
    const drawn = Array.from({ length: 50 }, () => one.seed());
    expect(drawn).toEqual(Array.from({ length: 50 }, () => two.seed()));
    expect(drawn.every((value) => value === value >>> 0)).toBe(true);
  });

  it("chatPayload is the same for the same seed", () => {
    const payload = chatPayload({ turns: 2, system: "s", stream: true, extra: { max_tokens: 5 } });
    expect(payload).toEqual(chatPayload({ turns: 2, system: "s", stream: true, extra: { max_tokens: 5 } }));
    expect(payload.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
    expect(payload).not.toEqual(chatPayload({ turns: 2, seed: 2 }));
  });
});

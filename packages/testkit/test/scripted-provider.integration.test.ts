import { afterEach, beforeEach, describe, expect, it } from "vitest";

import {
  createScriptedProvider,
  eventually,
  json,
  OK,
  rawHttp,
  rawRequest,
  type ScriptedProvider,
  SILENT,
  tooMany,
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

describe("the log", () => {
  it("keeps raw path, header order and case, and body bytes", async () => {
    await ask(post('{"n":1}'));
    const [call] = provider.calls;
    expect(call?.path).toBe("/v1/chat?x=%20y");
    expect(call?.headers).toEqual([
      ["Host", "localhost"],
      ["X-One", "1"],
      ["x-one", "2"],
      ["Content-Length", "7"],
    ]);
    expect(call?.body.toString()).toBe('{"n":1}');
    expect(call?.json()).toEqual({ n: 1 });
  });

  it("reads a chunked body cut anywhere, with trailers", async () => {
    const bytes = rawRequest("POST", "/", [["Transfer-Encoding", "chunked"]], "");
    const body = Buffer.from("3\r\nabc\r\nA\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n");
    const client = await rawHttp(
      provider.port,
      Array.from(Buffer.concat([bytes, body]), (b) => Uint8Array.of(b)),
      {
        gapMs: 0,
      },
    );
    expect((await client.response()).status).toBe(200);
    expect(provider.calls[0]?.body.toString()).toBe("abc0123456789");
    expect(provider.calls[0]?.trailers).toEqual([["X-T", "1"]]);
    await client.close();
  });

  it("numbers connections and the requests on them", async () => {
    const client = await rawHttp(provider.port, post());
    await client.response();
    await client.send(post());
    await client.response();
    await client.close();
    await ask();
    expect(provider.calls.map((c) => [c.connection, c.requestOnConnection])).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
    ]);
  });

  it("tells who closed, and that a caller left before the answer", async () => {
    provider.answer(SILENT);
    const client = await rawHttp(provider.port, post());
    const [call] = await provider.waitForCalls(1);
    expect(call?.closedAt).toBeUndefined();
    client.reset();
    await eventually(() => expect(call?.closedHow).toBe("client"));
    expect(call?.abandoned).toBe(true);
  });

  it("answers Expect: 100-continue", async () => {
    const answer = await ask(rawRequest("POST", "/", [["Expect", "100-continue"]], "{}"));
    expect(answer).toMatchObject({ status: 200, interim: [100] });
  });
});

describe("the script", () => {
  it("gives one answer per call and repeats the last", async () => {
    provider.script([tooMany({ "Retry-After": "1" }), OK("a")]);
    const first = await ask();
    expect([first.status, first.header("retry-after")]).toEqual([429, "1"]);
    expect((await ask()).status).toBe(200);
    expect((await ask()).status).toBe(200);
  });

  it("BH-01: holds answers until four calls wait", async () => {
    const hold = provider.hold(4);
    const asking = Array.from({ length: 4 }, () => ask());
    await Promise.all(asking);
    expect(hold.waiting).toBe(0);
    expect(Math.min(...provider.calls.map((c) => c.answeredAt ?? 0))).toBeGreaterThanOrEqual(
      Math.max(...provider.calls.map((c) => c.at)),
    );
  });

  it("answers by function of the call", async () => {
    provider.answer((call) => json(200, { got: call.json() }));
    expect((await ask(post('"x"'))).body.toString()).toBe('{"got":"x"}');
  });

  it("reports a fault of an answer function on close", async () => {
    const faulty = await createScriptedProvider();
    faulty.answer(() => {
      throw new Error("script fault");
    });
    const client = await rawHttp(faulty.port, post());
    await expect(client.response()).rejects.toThrow("closed before an answer");
    await expect(faulty.close()).rejects.toThrow("an answer function failed");
  });

  it("stops and starts again on the same port", async () => {
    const { port } = provider;
    await provider.stop();
    await expect(rawHttp(port, post())).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await provider.start();
    expect((await ask()).status).toBe(200);
    expect(provider.port).toBe(port);
  });

  it("says how many calls came when waiting in vain", async () => {
    await expect(provider.waitForCalls(1, 20)).rejects.toThrow("0 of 1 calls came");
  });
});

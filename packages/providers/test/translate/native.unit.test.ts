import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AnswerWatch } from "../../src/dialects/answer-watch.ts";
import { FAMILIES } from "../../src/families/index.ts";
import { joined } from "../../src/json/splice.ts";
import type { BodyFacts } from "../../src/request/facts.ts";
import { factsOfNative, type NativeCall } from "../../src/request/native-facts.ts";
import { type NativePlan, planNative } from "../../src/exchange/plan-native.ts";
import { bytesOf, textOf } from "../support/bytes.ts";

const PATH = "/v1/systemone";

/** Of a body that is told to be no JSON. */
function read(bytes: Uint8Array): { readonly facts: BodyFacts; readonly call: NativeCall } {
  const native = factsOfNative(PATH, bytes, "application/octet-stream");
  if (!native.ok) throw new Error(native.fault.message);
  return native;
}

function planOf(body: string | Uint8Array, callerHeaders: readonly string[] = [], query = ""): NativePlan {
  const bytes = typeof body === "string" ? bytesOf(body) : body;
  const family = FAMILIES.get("openai_compatible");
  if (family === undefined) throw new Error("no family");
  const { facts, call } = read(bytes);
  const account = { baseUrl: "https://h/v1" };
  return planNative(
    { family, account, model: "m", facts, body: bytes, query, secret: "sk", callerHeaders },
    call,
  );
}

const sent = (body: string | Uint8Array): string => textOf(joined(planOf(body).request.body));

function typeSent(callerHeaders: readonly string[], body = "{}"): string[] {
  const { headers } = planOf(body, callerHeaders).request;
  return headers.filter((_, place) => headers[place - 1] === "content-type");
}

describe("requests of native endpoints", () => {
  it.each([
    ['{ "q":[1.0, 2],"model" : "g" }', '{ "q":[1.0, 2],"model" : "m" }'],
    ['{"model":"g","Model":"other","model":"g2"}', '{"model":"m","Model":"m","model":"m"}'],
    ['{"model":null}', '{"model":"m"}'],
    ['{"stream":"maybe","messages":7}', '{"stream":"maybe","messages":7}'],
    ["{ }", "{ }"],
    ["[1,2]", "[1,2]"],
    ["", ""],
    ['{"model":7}', '{"model":7}'],
    ["--b\r\ncontent-disposition: form-data\r\n\r\n", "--b\r\ncontent-disposition: form-data\r\n\r\n"],
  ])("P1: %j goes as %j", (body, expected) => {
    expect(sent(body)).toBe(expected);
  });

  it("P1 law: what names no model goes byte for byte, whatever it is", () => {
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 60 }),
      fc.json().map(bytesOf),
      fc
        .dictionary(fc.constantFrom("stream", "messages", "store", "x"), fc.jsonValue())
        .map((made) => bytesOf(JSON.stringify(made))),
    );
    fc.assert(
      fc.property(bodies, (body) => {
        fc.pre(!/model/iu.test(textOf(body)) && factsOfNative(PATH, body, "x/y").ok);
        expect(joined(planOf(body).request.body)).toEqual(body);
      }),
    );
  });

  it("P9: the caller's query, headers and content type go on, its keys do not", () => {
    const { request } = planOf(
      "{}",
      ["x-a", "1", "authorization", "Bearer ck", "content-type", "text/x"],
      "a=1",
    );
    expect([request.method, request.origin + request.path]).toEqual(["POST", "https://h/v1/systemone?a=1"]);
    expect(request.headers.join(" ")).toMatch(/x-a 1/u);
    expect(request.headers.join(" ")).not.toMatch(/ck/u);
    expect(request.headers).toContain("Bearer sk");
    const form = ["Content-Type", "multipart/form-data; boundary=b"];
    expect(typeSent(form, "--b--")).toEqual([form[1]]);
    expect(typeSent(["content-type", "application/x+json; v=1"])).toEqual(["application/x+json; v=1"]);
    expect(typeSent(["content-type", "text/plain"])).toEqual(["application/json"]);
    expect(typeSent([])).toEqual(["application/json"]);
  });

  it("names what is wrong with a body that no model can be read from, and routes by what it can", () => {
    const faultOf = (body: string): string | undefined => read(bytesOf(body)).call.fault?.code;
    expect([faultOf("nonsense"), faultOf("[]"), faultOf('{"model":1}')]).toEqual([
      "invalid_json",
      "invalid_json",
      "invalid_request",
    ]);
    expect(faultOf('{"stream":1}')).toBeUndefined();
    const { facts } = read(bytesOf('{"model":"g","stream":true,"max_tokens":9,"user":"u"}'));
    expect(facts).toMatchObject({
      endpoint: "native",
      model: "g",
      stream: true,
      maxOutputTokens: 9,
      store: false,
    });
  });

  const deep = `{"model":"other","x":${"[".repeat(600)}${"]".repeat(600)}}`;
  it.each([
    ["nested too deep", bytesOf(deep)],
    ["in UTF-16", Uint8Array.from(Buffer.from('\ufeff{"model":"other"}', "utf16le"))],
    ["in broken UTF-8", Uint8Array.from(Buffer.from('{"model":"other","x":"\u00ff"}', "latin1"))],
    ["with what is no JSON", bytesOf('{"model":"other","x":NaN}')],
    ["and more", bytesOf(' \n{"model":"other"} x')],
    ["cut off", bytesOf('{"model":"other"')],
  ])("R1: an object %s is refused, since a provider might read another model in it", (_what, body) => {
    for (const type of [undefined, "application/json", "text/plain", "multipart/form-data; boundary=b"]) {
      expect(factsOfNative(PATH, body, type)).toMatchObject({ ok: false, fault: { code: "invalid_json" } });
    }
  });

  it("what is told to be JSON and is none is refused; lists, forms and nothing at all are not", () => {
    const takes = (body: string, type?: string): boolean => factsOfNative(PATH, bytesOf(body), type).ok;
    expect([
      takes("nonsense", "application/json"),
      takes("--b--"),
      takes("[1", "application/x+json"),
    ]).toEqual([false, false, false]);
    expect([takes("[1]"), takes(""), takes("--b--", "multipart/form-data; boundary=b")]).toEqual([
      true,
      true,
      true,
    ]);
  });
});

describe("usage of native endpoints' answers", () => {
  const watched = (type: string, ...pieces: string[]): AnswerWatch => {
    const watch = new AnswerWatch(type);
    for (const piece of pieces) watch.push(bytesOf(piece));
    watch.finish();
    return watch;
  };
  const JSON_TYPE = "application/json";
  const SSE_TYPE = "text/event-stream";

  it("is read at the top of a JSON body, in pieces too", () => {
    const { usage, model } = watched(
      JSON_TYPE,
      '{"model":"x","us',
      'age":{"prompt_tokens":3,"completion_tokens":2}}',
    );
    expect([model, usage?.input, usage?.output]).toEqual(["x", 3, 2]);
    expect(watched("application/vnd.x+json", '{"usage":{"total_tokens":3}}').usage?.total).toBe(3);
  });

  it("counts Anthropic's cache beside the input", () => {
    const usage = '{"usage":{"input_tokens":3,"output_tokens":2,"cache_read_input_tokens":10}}';
    expect(watched(JSON_TYPE, usage).usage).toMatchObject({ input: 13, cached: 10, output: 2 });
  });

  it("of a stream is the last that its events tell", () => {
    const { usage, model } = watched(
      SSE_TYPE,
      'data: {"model":"x","usage":{"prompt_tokens":1}}\n\ndata: {"usage":null}\n\nda',
      'ta: {"usage":{"prompt_tokens":1,"completion_tokens":5}}\n\ndata: [DONE]\n\n',
    );
    expect([model, usage?.input, usage?.output]).toEqual(["x", 1, 5]);
  });

  it.each([
    [JSON_TYPE, "usage model"],
    [JSON_TYPE, '"usage"'],
    [JSON_TYPE, '{"usage":"much","model":7}'],
    [JSON_TYPE, `{"usage":{"prompt_tokens":3},"x":"${"a".repeat(1024 * 1024)}"}`],
    ["audio/mpeg", '{"usage":{"prompt_tokens":3}}'],
    [SSE_TYPE, 'data: "usage" broken\n\n'],
  ])("of a %s that says none is none", (type, body) => {
    const { usage, model } = watched(type, body);
    expect([usage, model]).toEqual([undefined, undefined]);
  });
});

import type { Endpoint } from "@switchyard/core";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readConversationText } from "../../src/request/conversation.ts";
import { type BodyFacts, readRequestFacts } from "../../src/request/facts.ts";
import { joined } from "../../src/json/splice.ts";
import { rewriteBody } from "../../src/request/rewrite.ts";
import { readSessionKey } from "../../src/request/session.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

function factsOf(endpoint: Endpoint, text: string): BodyFacts {
  const result = readRequestFacts(endpoint, bytesOf(text));
  if (!result.ok) throw new Error(result.fault.message);
  return result.facts;
}

const rewritten = (text: string, model: string, askUsage = false): string =>
  textOf(joined(rewriteBody(bytesOf(text), factsOf("chat", text), { model, askUsage })));

describe("readRequestFacts", () => {
  it("reads the facts of a chat request", () => {
    const text =
      '{"model":"g","messages":[],"stream":true,"max_tokens":7,"max_completion_tokens":9,"stream_options":{"include_usage":true}}';
    expect(factsOf("chat", text)).toMatchObject({
      model: "g",
      stream: true,
      bodyBytes: text.length,
      maxOutputTokens: 9,
      usageAsked: true,
    });
  });

  it("takes the last of a key given twice and decodes escapes in keys and values", () => {
    expect(factsOf("chat", '{"model":"a","messages":[],"mod\\u0065l":"\\u0062"}').model).toBe("b");
  });

  it("R2: tells no model from an empty one, and null is none", () => {
    expect(factsOf("chat", '{"messages":[]}').model).toBeUndefined();
    expect(factsOf("chat", '{"model":null,"messages":[]}').model).toBeUndefined();
    expect(factsOf("chat", '{"model":"","messages":[]}').model).toBe("");
  });

  it.each([
    ["chat", "[]", "invalid_json", null],
    ["chat", "", "invalid_json", null],
    ["chat", '{"messages":[]', "invalid_json", null],
    ["chat", "{}", "invalid_request", "messages"],
    ["chat", '{"messages":null}', "invalid_request", "messages"],
    ["chat", '{"messages":"hi"}', "invalid_request", "messages"],
    ["messages", '{"messages":{}}', "invalid_request", "messages"],
    ["count_tokens", "{}", "invalid_request", "messages"],
    ["embeddings", '{"model":"m"}', "invalid_request", "input"],
    ["chat", '{"model":1,"messages":[]}', "invalid_request", "model"],
    ["chat", '{"model":["m"],"messages":[]}', "invalid_request", "model"],
    ["chat", '{"stream":"true","messages":[]}', "invalid_request", "stream"],
  ] as const)("%s %s is refused as %s naming %s", (endpoint, text, code, param) => {
    expect(readRequestFacts(endpoint, bytesOf(text))).toMatchObject({ ok: false, fault: { code, param } });
  });

  it("BH-30: leaves input of any kind to the provider", () => {
    for (const input of ["[15339,1917]", "[[15339,1917],[40,939]]", "[]", '["a",[1]]']) {
      expect(
        factsOf("embeddings", `{"model":"e","input":${input},"encoding_format":"base64"}`),
      ).toMatchObject({
        encodingFormat: "base64",
        stream: false,
      });
    }
  });
});

describe("what a request continues (P8)", () => {
  const reference = (id: unknown): object => ({ type: "item_reference", id });
  it.each([
    [{ previous_response_id: "resp_1", conversation: { id: "conv_1" } }, ["resp_1", "conv_1"]],
    [{ input: [reference("rs_1"), { role: "user", content: "x" }, reference("msg_2")] }, ["msg_2", "rs_1"]],
    [{ previous_response_id: "resp_1", input: [reference("msg_1")] }, ["resp_1", "msg_1"]],
    [{ input: Array.from({ length: 40 }, (_, n) => reference(`i${n}`)) }, range(39, 0).map((n) => `i${n}`)],
    [{ input: [{ id: "msg_1" }, { type: null, id: "msg_2" }] }, ["msg_2", "msg_1"]],
    [
      {
        input: [
          { id: "msg_1", role: "user", content: "x" },
          { id: "fc_1", type: "function_call" },
        ],
      },
      [],
    ],
    [{ input: [reference(7), { type: "item_reference" }, "item_reference", null] }, []],
    [{ input: [{ role: "user", content: 'my "item_reference"' }] }, []],
    [{ input: [{ role: "user", content: [{ type: "item_reference", id: "x" }] }] }, []],
    [{ input: "item_reference" }, []],
  ])("%j", (fields, ids) => {
    expect(factsOf("responses", JSON.stringify({ model: "g", ...fields })).continues).toEqual(ids);
  });

  it("however its keys and its type are written", () => {
    const written = [
      '{"type":"item\\u005freference","id":"msg_1"}',
      '{"\\u0074ype":"item_reference","\\u0069d":"msg_1"}',
      '{"\\u0069\\u0064":"msg_1"}',
      '{"i\\u0064":"m\\u0073g_1"}',
    ];
    for (const item of written) {
      expect(factsOf("responses", `{"model":"g","input":[${item}]}`).continues).toEqual(["msg_1"]);
    }
  });

  function range(from: number, to: number): number[] {
    return Array.from({ length: from - to + 1 }, (_, place) => from - place);
  }
});

describe("encrypted contents (BH-31)", () => {
  it.each([
    ['{"input":[{"type":"reasoning","encrypted_content":"x"}]}', true],
    ['{"input":[{"a":{"b":[{"encrypted_content" : null}]}}]}', true],
    ['{"input":"encrypted_content"}', false],
    ['{"input":[{"text":"\\"encrypted_content\\":\\"x\\""}]}', false],
    ['{"input":[{"encrypted_contenu":1,"crypted_content_x":2}]}', false],
  ])("%s: %s", (text, expected) => {
    expect(factsOf("responses", text).encrypted).toBe(expected);
  });

  it("says nothing of the request before", () => {
    readRequestFacts("responses", bytesOf('{"input":[{"encrypted_content":"x"}'));
    expect(factsOf("responses", '{"input":[{"a":1}]}').encrypted).toBe(false);
  });
});

describe("rewriteBody", () => {
  it("P1: changes the model and not a byte beside it", () => {
    const text =
      ' {\n "n" : 12345678901234567890, "model" :\t"g" , "messages":[ {"x":1.0} ],"new_field":{}}\n';
    expect(rewritten(text, 'up/"m"')).toBe(text.replace('"g"', '"up/\\"m\\""'));
  });

  it("hands back the same bytes when there is nothing to change", () => {
    const bytes = bytesOf('{"model":"g","messages":[]}');
    expect(rewriteBody(bytes, factsOf("chat", textOf(bytes)), { model: "g", askUsage: false })).toBe(bytes);
  });

  it("copies nothing of a large prompt, and says the same in pieces", () => {
    const prompt = "x".repeat(100_000);
    const bytes = bytesOf(`{"messages":["${prompt}"],"model":"g","stream":true}`);
    const pieces = rewriteBody(bytes, factsOf("chat", textOf(bytes)), { model: "up", askUsage: true });
    expect(textOf(joined(pieces))).toBe(
      `{"stream_options":{"include_usage":true},"messages":["${prompt}"],"model":"up","stream":true}`,
    );
    const large = (pieces as readonly Uint8Array[]).filter(({ length }) => length > 1000);
    expect(large.map(({ buffer }) => buffer)).toEqual([bytes.buffer]);
  });

  it("replaces every occurrence of the model, so that no parser sees another", () => {
    const text = '{"model":"a","Model":{"x":1},"messages":[{"model":"kept"}],"\\u006dodel":"b","MODEL":null}';
    expect(rewritten(text, "z")).toBe(
      '{"model":"z","Model":"z","messages":[{"model":"kept"}],"\\u006dodel":"z","MODEL":"z"}',
    );
    expect(rewritten('{"model":"z","model":"z","messages":[]}', "z")).toBe(
      '{"model":"z","model":"z","messages":[]}',
    );
  });

  it("puts a missing model in", () => {
    expect(rewritten('{ "messages":[]}', "z")).toBe('{"model":"z", "messages":[]}');
    expect(rewritten('{"messages":[],"MODEL":"a"}', "z")).toBe('{"model":"z","messages":[],"MODEL":"z"}');
    expect(rewritten('{"model":null,"messages":[]}', "z")).toBe('{"model":"z","messages":[]}');
    const empty = bytesOf("{}");
    expect(
      textOf(joined(rewriteBody(empty, factsOf("responses", "{}"), { model: "z", askUsage: true }))),
    ).toBe('{"model":"z","stream_options":{"include_usage":true}}');
  });

  it.each([
    ["", '"stream_options":{"include_usage":true},', ""],
    [',"stream_options":null', "", ',"stream_options":{"include_usage":true}'],
    [',"stream_options":{}', "", ',"stream_options":{"include_usage":true}'],
    [',"stream_options":{"x":1}', "", ',"stream_options":{"include_usage":true,"x":1}'],
    [',"stream_options":{"include_usage":false,"x":1}', "", ',"stream_options":{"include_usage":true,"x":1}'],
    [',"stream_options":{"include_usage":null}', "", ',"stream_options":{"include_usage":true}'],
    [',"stream_options":{"include_usage":true}', "", ',"stream_options":{"include_usage":true}'],
    [',"stream_options":5', "", ',"stream_options":5'],
  ])("P4: asks for usage where the body says %j", (before, first, after) => {
    expect(rewritten(`{"model":"a","messages":[]${before}}`, "b", true)).toBe(
      `{${first}"model":"b","messages":[]${after}}`,
    );
  });

  it("P4: asks in every occurrence of stream_options", () => {
    const text = '{"stream_options":{},"messages":[],"model":"a","stream_options":{"include_usage":true}}';
    expect(rewritten(text, "a", true)).toBe(
      '{"stream_options":{"include_usage":true},"messages":[],"model":"a","stream_options":{"include_usage":true}}',
    );
  });

  it("says what was asked for and keeps all else, for any body", () => {
    const member = fc.tuple(
      fc.constantFrom("model", "stream_options", "messages", "Model", "other", "x"),
      fc.oneof(fc.constant({ include_usage: false }), fc.constant(null), fc.string(), fc.jsonValue()),
    );
    fc.assert(
      fc.property(fc.array(member, { maxLength: 6 }), fc.string(), (members, model) => {
        const all = [...members, ["model", "asked"], ["messages", []]] as const;
        const text = `{${all.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(",")}}`;
        const result = JSON.parse(rewritten(text, model)) as Record<string, unknown>;
        const before = JSON.parse(text) as Record<string, unknown>;
        const others = Object.entries(before).filter(([key]) => key.toLowerCase() !== "model");
        expect(result).toMatchObject({ model, ...Object.fromEntries(others) });
        expect(Object.hasOwn(result, "Model") ? result["Model"] : model).toBe(model);
      }),
    );
  });
});

describe("affinity texts", () => {
  it("F3: session key from prompt_cache_key, metadata.user_id, user, in this order", () => {
    const read = (text: string): string | undefined =>
      readSessionKey(bytesOf(text), factsOf("responses", text));
    expect(read('{"user":"u","metadata":{"user_id":"m"},"prompt_cache_key":"p"}')).toBe("p");
    expect(read('{"user":"u","metadata":{"user_id":"m"},"prompt_cache_key":""}')).toBe("m");
    expect(read('{"user":"u","metadata":{"user_id":7}}')).toBe("u");
    expect(read('{"metadata":"x"}')).toBeUndefined();
  });

  it("F4: conversation text is the system prompt and the first user message with text", () => {
    const read = (endpoint: Endpoint, body: object): string | undefined => {
      const text = JSON.stringify(body);
      return readConversationText(bytesOf(text), factsOf(endpoint, text));
    };
    const image = { type: "image_url", image_url: { url: "data:..." } };
    const messages = [
      { role: "system", content: "be kind" },
      { role: "user", content: [image] },
      { role: "assistant", content: "?" },
      { role: "user", content: [image, { type: "text", text: "hi" }] },
      { role: "user", content: "later" },
    ];
    expect(read("chat", { messages })).toBe("be kind\u0000hi");
    expect(read("chat", { messages: [{ role: "user", content: [image] }] })).toBeUndefined();
    const document = { type: "document", source: { type: "text", media_type: "text/plain", data: "doc" } };
    expect(
      read("messages", {
        system: [{ type: "text", text: "s" }],
        messages: [{ role: "user", content: [document] }],
      }),
    ).toBe("s\u0000doc");
    expect(read("responses", { instructions: "i", input: "hello" })).toBe("i\u0000hello");
    const input = [
      { role: "developer", content: [{ type: "input_text", text: "d" }] },
      { role: "user", content: [{ type: "input_text", text: "q" }] },
      { role: "developer", content: "after" },
    ];
    expect(read("responses", { instructions: "i", input })).toBe("id\u0000q");
  });
});

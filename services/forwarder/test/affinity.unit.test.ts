import { decodeConfig } from "@switchyard/config";
import { groupKey, hashKey } from "@switchyard/core";
import { readRequestFacts } from "@switchyard/providers";
import { describe, expect, it } from "vitest";
import { AffinityReader } from "../src/request/affinity-reader.ts";
import { AffinityReasons } from "../src/request/affinity-reasons.ts";
import type { RequestAffinity } from "../src/request/affinity-reader.ts";

function readerOf(...affinities: readonly object[]): AffinityReader {
  const groups = affinities.map((affinity, index) => ({
    name: `g${index}`,
    deployments: [{ provider: "a", model: "m" }],
    policy: { affinity },
  }));
  const providers = [{ name: "a", family: "openai", credential: { env: "A" } }];
  const { config, faults } = decodeConfig(JSON.stringify({ providers, groups }));
  if (config === undefined || faults.length > 0) throw new Error(JSON.stringify(faults));
  const reader = new AffinityReader();
  reader.use(config);
  return reader;
}

function read(
  reader: AffinityReader,
  body: object,
  headers: readonly string[] = [],
  query = "",
): RequestAffinity {
  const bytes = new TextEncoder().encode(
    JSON.stringify({ model: "g0", messages: [{ role: "user", content: "hi" }], ...body }),
  );
  const facts = readRequestFacts("chat", bytes);
  if (!facts.ok) throw new Error(facts.fault.message);
  return reader.read({ facts: facts.facts, body: bytes, headers, query });
}

describe("affinity of a request", () => {
  it("reads nothing that no group asks for", () => {
    expect(read(readerOf({ by: "none" }, { by: "user" }), { user: "u" }, ["x-session-id", "s"])).toEqual({
      hashes: undefined,
      rejected: new Map(),
    });
  });

  it("F3 session: headers first, then the body's fields, in their order", () => {
    const reader = readerOf({ by: "session" });
    const body = { prompt_cache_key: "p", metadata: { user_id: "m" }, user: "u" };
    const of = (fields: object, headers: readonly string[] = []): number | undefined =>
      read(reader, fields, headers).hashes?.session;
    expect(of(body, ["x-claude-code-session-id", "c", "x-session-id", "s"])).toBe(hashKey("s"));
    expect(of(body, ["x-claude-code-session-id", "c"])).toBe(hashKey("c"));
    expect(of(body)).toBe(hashKey("p"));
    expect(of({ ...body, prompt_cache_key: "" })).toBe(hashKey("m"));
    expect(of({ user: "u" })).toBe(hashKey("u"));
    expect(read(reader, {}).hashes).toBeUndefined();
  });

  it("F4 conversation: the same opening, the same hash; no text, none", () => {
    const reader = readerOf({ by: "conversation" });
    const opening = { role: "user", content: "hello" };
    const first = read(reader, { messages: [opening] }).hashes?.conversation;
    const later = read(reader, { messages: [opening, { role: "assistant", content: "x" }] });
    expect(first).toBeTypeOf("number");
    expect(later.hashes?.conversation).toBe(first);
    expect(read(reader, { messages: [] }).hashes).toBeUndefined();
  });

  it("F5 expression: header and query, by the source of the expression", () => {
    const [header, query] = ['request.headers.get("X-T")', 'request.query.get("t")'];
    const reader = readerOf(
      { by: "expression", expression: header },
      { by: "expression", expression: query },
      { by: "expression", expression: "request.user.sub" },
    );
    expect(read(reader, {}, ["x-t", "one"], "a=b&t=tw%6f").hashes?.expressions).toEqual({
      [header]: hashKey("one"),
      [query]: hashKey("two"),
    });
    expect(read(reader, {})).toEqual({ hashes: undefined, rejected: new Map() });
  });

  it("F6, F7: a value that is no key is told of without showing it", () => {
    const expression = 'request.headers.get("x-t")';
    const { hashes, rejected } = read(readerOf({ by: "expression", expression }), {}, [
      "x-t",
      "v".repeat(300),
    ]);
    expect(hashes).toBeUndefined();
    expect(rejected).toEqual(new Map([[expression, "is longer than 256 bytes"]]));
  });
});

describe("F6: why a request went by the strategy", () => {
  const header = 'request.headers.get("x-t")';
  const reasons = new AffinityReasons();
  const group = (name: string, affinity: object): object => ({
    name,
    deployments: [{ provider: "a", model: "m" }],
    policy: { affinity },
  });
  const { config } = decodeConfig(
    JSON.stringify({
      providers: [{ name: "a", family: "openai", credential: { env: "A" } }],
      groups: [
        group("header", { by: "expression", expression: header }),
        group("seat", { by: "expression", expression: "request.user.data.seat" }),
        group("plain", { by: "none" }),
      ],
      keys: [
        { name: "k", user: { sub: "u", data: { seat: 1.5 } }, groups: ["seat"] },
        { name: "good", user: { sub: "u", data: { seat: 4 } }, groups: ["seat"] },
      ],
    }),
  );
  if (config === undefined) throw new Error("the test's config is not readable");
  reasons.use(config);
  const reader = readerOf({ by: "expression", expression: header });
  const of = (name: string, key: string, headers: readonly string[] = []): readonly string[] =>
    reasons.why(read(reader, {}, headers), groupKey("default", name), key);

  it("tells of the group's own expression alone, also when it finds nothing", () => {
    expect(of("header", "k")).toEqual([`${header} is not there`]);
    expect(of("header", "k", ["x-t", ""])).toEqual([`${header} is empty`]);
    expect(of("header", "k", ["x-t", "one"])).toEqual([]);
    expect(of("plain", "k", ["x-t", ""])).toEqual([]);
  });

  it("tells of what the caller's key holds", () => {
    expect(of("seat", "k")).toEqual(["request.user.data.seat is a number, but no safe integer"]);
    expect(of("seat", "good")).toEqual([]);
    expect(of("seat", "nobody")).toEqual(["request.user.data.seat is not there"]);
  });

  it("tells of what was rejected where no group was reached", () => {
    const affinity = read(reader, {}, ["x-t", ""]);
    expect(reasons.why(affinity, undefined, undefined)).toEqual([`${header} is empty`]);
  });
});

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ResponseReader } from "../src/index.ts";
import { cut } from "./cut.ts";
import { readByUs } from "./read-response.ts";

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 });
const read = (text: string, method = "POST"): ReturnType<typeof readByUs> =>
  readByUs([Buffer.from(text, "latin1")], method);

describe("framing, RFC 9112 section 6.3", () => {
  test.each([
    ["a length", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", "ok", true],
    ["no body by its length", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "", true],
    [
      "chunks",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\na: b\r\n\r\n",
      "ok",
      true,
    ],
    ["the end of the connection", "HTTP/1.1 200 OK\r\n\r\nok", "ok", false],
    ["204", "HTTP/1.1 204 No Content\r\n\r\n", "", true],
    ["304 with the length of what it leaves out", "HTTP/1.1 304 x\r\ncontent-length: 9\r\n\r\n", "", true],
    ["204 that announces a body", "HTTP/1.1 204 x\r\ncontent-length: 9\r\n\r\n", "", false],
    ["close", "HTTP/1.1 200 OK\r\nconnection: a, Close\r\ncontent-length: 2\r\n\r\nok", "ok", false],
    ["1.0", "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", "ok", false],
    ["1.0 kept", "HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\ncontent-length: 2\r\n\r\nok", "ok", true],
    ["interim heads", "HTTP/1.1 100 x\r\n\r\nHTTP/1.1 103 x\r\na: b\r\n\r\nHTTP/1.1 204 x\r\n\r\n", "", true],
    ["more bytes than its length", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200", "ok", false],
    ["a body where none may be", "HTTP/1.1 204 x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "", false],
  ])("%s", (_name, text, body, reusable) => {
    expect(read(text)).toMatchObject({ whole: true, ends: 1, body, reusable, fault: undefined });
  });

  test("a HEAD request's answer has no body, whatever it announces", () => {
    for (const field of ["content-length: 9", "transfer-encoding: chunked"]) {
      const got = read(`HTTP/1.1 200 OK\r\n${field}\r\n\r\n`, "HEAD");
      expect(got).toMatchObject({ whole: true, body: "", reusable: true });
    }
  });

  test.each([
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok"],
    ["two lengths in one", "HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\nok"],
    ["a length that is none", "HTTP/1.1 200 OK\r\ncontent-length: 2x\r\n\r\nok"],
    ["a length past all counting", "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\nok"],
    ["a length behind other white space", "HTTP/1.1 200 OK\r\ncontent-length: 2\u00a0\r\n\r\nok"],
    [
      "a length beside chunks",
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["another coding", "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n"],
    ["chunked twice", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n"],
    ["chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["a bare LF", "HTTP/1.1 200 OK\r\na: b\nc: d\r\n\r\n"],
    ["a bare CR", "HTTP/1.1 200 OK\r\na: b\rc\r\n\r\n"],
    ["NUL", "HTTP/1.1 200 OK\r\na: b\0\r\n\r\n"],
    ["a folded line", "HTTP/1.1 200 OK\r\na: b\r\n c\r\n\r\n"],
    ["white space before a colon", "HTTP/1.1 200 OK\r\na : b\r\n\r\n"],
    ["a protocol nobody asked for", "HTTP/1.1 101 x\r\n\r\n"],
    ["a status below 100", "HTTP/1.1 099 x\r\n\r\n"],
    ["too many fields", `HTTP/1.1 200 OK\r\n${"a: b\r\n".repeat(257)}\r\n`],
    ["a broken chunk", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nokk\r\n0\r\n\r\n"],
  ])("refused: %s", (_name, text) => {
    expect(read(text)).toMatchObject({ whole: false, fault: "MALFORMED_RESPONSE" });
  });

  test.each([
    ["within the head", "HTTP/1.1 200 OK\r\n"],
    ["before the head", ""],
    ["within a length", "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok"],
    ["between chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n"],
    ["within the trailers", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\na: b\r\n"],
    ["behind an interim head", "HTTP/1.1 100 x\r\n\r\n"],
  ])("an end %s is early", (_name, text) => {
    expect(read(text)).toMatchObject({ whole: false, fault: "CLOSED_EARLY" });
  });
});

describe("heads", () => {
  const head = `HTTP/1.1 200 OK\r\na: ${"x".repeat(900)}\r\n\r\n`;

  test("fit up to the last byte, interim ones counted, however they are cut", () => {
    for (const text of [head, `HTTP/1.1 100 x\r\n\r\n${head}`]) {
      for (const by of [1, 7, 4000]) {
        const pieces = cut(Buffer.from(text), [by]);
        expect(readByUs(pieces, "HEAD", text.length)).toMatchObject({ whole: true, status: 200 });
        expect(readByUs(pieces, "HEAD", text.length - 1)).toMatchObject({
          fault: "HEAD_TOO_LARGE",
          status: 0,
        });
      }
    }
  });

  test("an endless head is refused as soon as it is too long", () => {
    expect(readByUs(cut(Buffer.alloc(1100, "x"), [100]), "POST", 1000).fault).toBe("HEAD_TOO_LARGE");
  });

  test("the server's keep-alive hint is in milliseconds", () => {
    const hints: number[] = [];
    const reader = new ResponseReader(
      { onHead: () => hints.push(reader.keepAliveMs), onBody: () => {}, onEnd: () => {} },
      1000,
    );
    for (const field of [
      "keep-alive: timeout=5",
      "Keep-Alive: max=3, timeout=7",
      "a: b",
      "keep-alive: xtimeout=5",
    ]) {
      const bytes = Buffer.from(`HTTP/1.1 200 OK\r\n${field}\r\ncontent-length: 0\r\n\r\n`);
      reader.expect(false);
      reader.push(bytes, bytes.length);
    }
    expect(hints).toEqual([5000, 7000, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
  });
});

describe("however the bytes are cut", () => {
  const piece = fc.string({ minLength: 1, maxLength: 60, unit: "binary-ascii" });

  test("a chunked body comes out whole, and all that one read brought of it at once", () => {
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1 }), sizes, (chunks, by) => {
        const coded = chunks.map((chunk) => `${chunk.length.toString(16)};a="b"\r\n${chunk}\r\n`).join("");
        const text = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${coded}0\r\na: b\r\n\r\n`;
        const bytes = Buffer.from(text, "latin1");
        const pieces = cut(bytes, by);
        const got = readByUs(pieces);
        expect(got).toMatchObject({ whole: true, reusable: true, body: chunks.join("") });
        expect(got.chunks.length).toBeLessThanOrEqual(pieces.length);
        expect(readByUs([bytes]).chunks).toEqual([chunks.join("")]);
      }),
    );
  });

  test("held, it reads no further than the step it is at, and goes on from there", () => {
    const bytes = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nbody");
    const seen: string[] = [];
    const reader = new ResponseReader(
      {
        onHead: () => {
          seen.push("head");
          reader.held = true;
        },
        onBody: (from, start, end) => seen.push(from.toString("latin1", start, end)),
        onEnd: () => seen.push("end"),
      },
      1000,
    );
    reader.expect(false);
    const used = reader.push(bytes, bytes.length);
    expect([used, seen]).toEqual([bytes.length - 4, ["head"]]);
    reader.held = false;
    expect(reader.push(bytes.subarray(used), 4)).toBe(4);
    expect(seen).toEqual(["head", "body", "end"]);
  });

  test("stopped from a callback, it reports nothing more", () => {
    for (const stopAt of ["head", "body"]) {
      const bytes = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
      const seen: string[] = [];
      const note = (what: string) => (): void => {
        seen.push(what);
        if (what === stopAt) reader.stop();
      };
      const reader = new ResponseReader(
        { onHead: note("head"), onBody: note("body"), onEnd: note("end") },
        1000,
      );
      reader.expect(false);
      reader.push(bytes, bytes.length);
      expect(seen.at(-1)).toBe(stopAt);
      expect(reader.reusable).toBe(false);
    }
  });
});

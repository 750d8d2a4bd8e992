import * as fc from "fast-check";
import { expect, test } from "vitest";
import { cut } from "./cut.ts";
import { readByNode } from "./node-client.ts";
import { readByUs } from "./read-response.ts";

const oddStatusLine = fc.constantFrom(
  "HTTP/1.1 404",
  "HTTP/1.1 500 ",
  "HTTP/1.0 200 OK",
  "HTTP/1.1 204 No Content",
  "HTTP/1.1 304 Not Modified",
  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK",
  "HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\nHTTP/1.1 201 Created",
  "HTTP/1.2 200 OK",
  "HTTP/2.0 200 OK",
  "HTTP/1.1  200 OK",
  "HTTP/1.1 20 OK",
  "HTTP/1.1 2000 OK",
  "http/1.1 200 OK",
  "\r\nHTTP/1.1 200 OK",
);
const statusLine = fc.oneof({ weight: 4, arbitrary: fc.constant("HTTP/1.1 200 OK") }, oddStatusLine);
const oddFieldLine = fc.constantFrom(
  "content-length: 5",
  "Content-Length: 5",
  "content-length: 0",
  "content-length: 12",
  "content-length: 5, 5",
  "content-length: +5",
  "content-length: 5 ",
  "content-length:\t5",
  "content-length: 5\u00a0",
  "content-length: 0x5",
  "content-length: 5 5",
  "content-length:",
  "content-length : 5",
  " content-length: 5",
  "transfer-encoding: chunked",
  "Transfer-Encoding: Chunked",
  "transfer-encoding: gzip, chunked",
  "transfer-encoding: chunked, gzip",
  "transfer-encoding: identity",
  "transfer-encoding: chunked;q=1",
  "transfer-encoding: chunked\r\ntransfer-encoding: chunked",
  "transfer-encoding: \u000bchunked",
  "transfer-encoding:",
  "connection: close",
  "connection: keep-alive",
  "connection: x, close",
  "x-a: b",
  "x-a: b\r\n folded",
  "x-a: \u00e9\u0080",
  "x-a: b\u0000c",
  "x-a: b\rc",
  "x-a: b\nc: d",
  "x-a b",
  ": x",
  "x\u00e9: y",
  "trailer: x",
);
const fieldLine = fc.oneof(
  fc.constantFrom("x-a: b", "content-length: 5", "transfer-encoding: chunked", "connection: close"),
  oddFieldLine,
);
const chunkText = fc.constantFrom(
  "5\r\nhello\r\n0\r\n\r\n",
  "5;a=b\r\nhello\r\n0\r\n\r\n",
  '5;a="b;c"\r\nhello\r\n0\r\na: b\r\n\r\n',
  "5 ;a\r\nhello\r\n0\r\n\r\n",
  "05\r\nhello\r\n00\r\n\r\n",
  "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
  "A\r\nhellohello\r\n0\r\n\r\n",
  "5\nhello\n0\n\n",
  "5\r\nhello0\r\n\r\n",
  "5\r\nhelloXX0\r\n\r\n",
  "5\r\nhello\r\n0\r\n",
  "fffffffff\r\nhello",
  "0\r\nx: y\r\nbroken\r\n\r\n",
  "",
);
const body = fc.oneof(
  chunkText,
  fc.constantFrom("", "hello", "hello, world", "helloHTTP/1.1 200 OK\r\n\r\n"),
);
const wellFormed = fc
  .tuple(statusLine, fc.array(fieldLine, { maxLength: 3 }), body)
  .map(([status, fields, rest]) => `${[status, ...fields].join("\r\n")}\r\n\r\n${rest}`);
const mutation = fc.record({
  at: fc.nat(1000),
  remove: fc.nat(2),
  insert: fc.constantFrom(
    "",
    "\r",
    "\n",
    "\r\n",
    "\0",
    " ",
    "\t",
    ":",
    ";",
    ",",
    "0",
    "5",
    "a",
    "\u007f",
    "\u00ff",
    "\u000b",
  ),
});
const response = fc.tuple(wellFormed, fc.array(mutation, { maxLength: 1 })).map(([text, mutations]) => {
  let mutated = text;
  for (const { at, remove, insert } of mutations) {
    const place = at % (mutated.length + 1);
    mutated = mutated.slice(0, place) + insert + mutated.slice(place + remove);
  }
  return Buffer.from(mutated, "latin1");
});
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });
const method = fc.constantFrom("POST", "POST", "POST", "HEAD");

// llhttp reads the grammar of chunk extensions; we only keep controls out of them. The line ends in the same place.
const extensions = /(?<=\r\n[0-9A-Fa-f]{1,8});[\t\x20-\x7e\x80-\xff]*(?=\r\n)/g;

function withoutExtensions(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString("latin1").replaceAll(extensions, ""), "latin1");
}

test("no response is read that node's own client does not read to the same bytes, however it is cut and broken", async () => {
  await fc.assert(
    fc.asyncProperty(response, sizes, method, async (bytes, by, verb) => {
      const ours = readByUs(cut(bytes, by), verb);
      expect(ours.ends).toBe(ours.whole ? 1 : 0);
      expect(ours.whole && ours.fault !== undefined).toBe(false);
      if (ours.whole) {
        const theirs = await readByNode(cut(bytes, by), verb);
        const { status, body: text } = ours;
        expect(theirs.whole ? theirs : await readByNode([withoutExtensions(bytes)], verb)).toEqual({
          whole: true,
          status,
          body: text,
        });
      }
    }),
    { numRuns: Number(process.env["FUZZ_RUNS"] ?? 1500) },
  );
});

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { InferRequestSchema, InferResponseSchema } from "@switchyard/proto/inference/v1/inference_service";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ChunkedDecoder } from "../src/http1/chunked.ts";
import { contentLength, parseRequestHead, parseResponseHead } from "../src/http1/head.ts";
import { createEncoder, type Encoded } from "../src/wire/encode.ts";
import { EnvelopeReader, envelopeHead } from "../src/wire/envelope.ts";
import { headerLine } from "../src/wire/metadata.ts";

/** The same bytes in pieces of any size. */
function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i += 1) {
    const size = sizes[i % sizes.length] as number;
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 });
const joined = ({ head, tail }: Encoded): Buffer => Buffer.concat([head, tail ?? new Uint8Array()]);

describe("encoder", () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.constantFrom(4095, 4096, 100_000).map((n) => new Uint8Array(n).fill(7)),
  );

  test("requests are as protobuf writes them, a large body uncopied", () => {
    const encode = createEncoder(InferRequestSchema);
    fc.assert(
      fc.property(fc.string(), bytes, fc.array(fc.string()), (path, body, names) => {
        const headers = names.map((name) => ({ name, value: name }));
        const message = create(InferRequestSchema, { path, body, headers });
        const encoded = encode(message);
        expect(Buffer.compare(joined(encoded), toBinary(InferRequestSchema, message))).toBe(0);
        expect(encoded.length).toBe(joined(encoded).length);
        if (body.length >= 4096) expect(encoded.tail).toBe(body);
        expect(message.body).toBe(body);
      }),
    );
  });

  test("responses are as protobuf writes them", () => {
    const encode = createEncoder(InferResponseSchema);
    const part = fc.oneof(
      bytes.map((value) => ({ case: "chunk" as const, value })),
      fc.nat(599).map((status) => ({
        case: "head" as const,
        value: { status, headers: [{ name: "a", value: "b" }] },
      })),
      fc.string().map((model) => ({ case: "trailer" as const, value: { model } })),
      fc.constant(undefined),
    );
    fc.assert(
      fc.property(part, (one) => {
        const message = create(InferResponseSchema, one === undefined ? {} : { part: one });
        expect(Buffer.compare(joined(encode(message)), toBinary(InferResponseSchema, message))).toBe(0);
      }),
    );
  });

  test("unknown fields are kept", () => {
    const message = fromBinary(InferResponseSchema, Buffer.from([0x12, 1, 65, 0xf8, 0x01, 5]));
    expect(joined(createEncoder(InferResponseSchema)(message))).toEqual(
      Buffer.from(toBinary(InferResponseSchema, message)),
    );
  });
});

describe("envelopes", () => {
  test("come out whole however the bytes were cut", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 60 })), sizes, (messages, by) => {
        const bytes = Buffer.concat(messages.flatMap((m) => [envelopeHead(0, m.length), m]));
        const got: number[][] = [];
        const reader = new EnvelopeReader(60, (_, message) => got.push([...message]));
        for (const piece of cut(bytes, by)) expect(reader.push(piece)).toBe(true);
        expect(got).toEqual(messages.map((m) => [...m]));
        expect(reader.complete).toBe(true);
      }),
    );
  });

  test("longer than allowed is refused by its head", () => {
    const reader = new EnvelopeReader(10, () => {});
    expect(reader.push(envelopeHead(0, 11))).toBe(false);
  });
});

describe("chunked bodies", () => {
  test("come out whole however the bytes were cut, and end where they end", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ minLength: 1, maxLength: 60 })), sizes, (chunks, by) => {
        const coded = chunks.flatMap((c) => [
          Buffer.from(`${c.length.toString(16)};x=y\r\n`),
          c,
          Buffer.from("\r\n"),
        ]);
        const bytes = Buffer.concat([...coded, Buffer.from("0\r\na: b\r\n\r\n")]);
        const got: Buffer[] = [];
        const decoder = new ChunkedDecoder();
        for (const piece of cut(bytes, by)) {
          expect(decoder.push(piece, 0, (data) => got.push(data))).toBe(piece.length);
        }
        expect(decoder.done).toBe(true);
        expect(Buffer.concat(got)).toEqual(Buffer.concat(chunks));
        const more = Buffer.concat([bytes, Buffer.from("HTTP/1.1")]);
        expect(new ChunkedDecoder().push(more, 0, () => {})).toBe(bytes.length);
      }),
    );
  });

  test.each(["x\r\n", "\r\n", "5\n", "1\r\nab\r\n", "-1\r\n", "123456789\r\n", "5".repeat(2000)])(
    "%j is malformed",
    (text) => {
      expect(new ChunkedDecoder().push(Buffer.from(text), 0, () => {})).toBe(-1);
    },
  );
});

describe("heads", () => {
  test("fields come in lower case, trimmed", () => {
    const head = parseRequestHead(
      "POST /a HTTP/1.1\r\nHost: x\r\nContent-Type:  application/proto \r\nEmpty:",
    );
    expect([head?.method, head?.path, head?.fields.get("content-type"), head?.fields.get("empty")]).toEqual([
      "POST",
      "/a",
      "application/proto",
      "",
    ]);
  });

  test.each([
    "POST /a HTTP/1.0\r\nhost: x",
    "POST a HTTP/1.1\r\nhost: x",
    "POST  /a HTTP/1.1\r\nhost: x",
    "POST /a HTTP/1.1\r\nhost : x",
    "POST /a HTTP/1.1\r\n host: x",
    "POST /a HTTP/1.1\r\nhost: x\ny: z",
    "POST /a HTTP/1.1\r\nhost: x\r\n\tfolded",
    "POST /a HTTP/1.1\r\nnothing",
    "PRI * HTTP/2.0",
  ])("%j is not for this reader", (text) => {
    expect(parseRequestHead(text)).toBeUndefined();
  });

  test.each(["HTTP/1.0 200 OK", "HTTP/1.1 20 OK", "http/1.1 200 OK", "HTTP/1.1 200 OK\r\n: x"])(
    "%j is no answer",
    (text) => {
      expect(parseResponseHead(text)).toBeUndefined();
    },
  );

  test.each([
    ["content-length: 5", 5],
    ["content-length: 5\r\ncontent-length: 5", "bad"],
    ["content-length: +5", "bad"],
    ["content-length: 5, 5", "bad"],
    ["content-length: 0x5", "bad"],
    ["a: b", undefined],
  ])("%j has the length %s", (fields, length) => {
    const head = parseResponseHead(`HTTP/1.1 200 OK\r\n${fields}`);
    expect(head && contentLength(head.fields)).toBe(length);
  });

  test.each([
    ["a b", "c"],
    ["a", "b\r\nc: d"],
    ["a", "b\nc"],
    ["", "b"],
    ["a", "模"],
    ["a:", "b"],
  ])("metadata %j: %j cannot become a header", (name, value) => {
    expect(() => headerLine(name, value)).toThrow("cannot be a header");
  });
});

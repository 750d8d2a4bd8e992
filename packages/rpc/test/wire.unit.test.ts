import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { InferRequestSchema, InferResponseSchema } from "@switchyard/proto/inference/v1/inference_service";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
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

describe("metadata", () => {
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

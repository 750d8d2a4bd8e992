import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ChunkedDecoder } from "../src/index.ts";
import { cut } from "./cut.ts";

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 });

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

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Gathered } from "../src/index.ts";

describe("Gathered", () => {
  it("law: what comes in pieces is the whole, whatever length was told", () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 30 });
    fc.assert(
      fc.property(pieces, fc.option(fc.nat(300), { nil: undefined }), (sent, told) => {
        const gathered = new Gathered(told);
        for (const piece of sent) gathered.push(Buffer.from(piece));
        const whole = Buffer.concat(sent);
        expect(gathered.length).toBe(whole.length);
        expect(gathered.take()).toEqual(whole);
        expect(gathered.length).toBe(0);
      }),
    );
  });

  it("one piece is not copied", () => {
    const gathered = new Gathered();
    const piece = Buffer.from("abcd");
    gathered.push(piece);
    expect(gathered.take()).toBe(piece);
  });

  it("of many small pieces none is held", () => {
    const gathered = new Gathered();
    const shared = Buffer.alloc(64, "x");
    for (let at = 0; at < 10_000; at += 1) gathered.push(shared.subarray(at % 64, (at % 64) + 1));
    expect(gathered.take().buffer.byteLength).toBeLessThan(20_001);
  });
});

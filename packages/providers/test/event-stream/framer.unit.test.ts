import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { crc32 } from "../../src/event-stream/crc32.ts";
import { EventStreamFramer } from "../../src/event-stream/framer.ts";
import { MAX_EVENT_BYTES } from "../../src/sse/framer.ts";
import { bytesOf, concat, cutAt, cuts, textOf } from "../support/bytes.ts";
import { frame, rawFrame } from "../support/frames.ts";

/** The three frames of BH-17. */
const BH_17 = new Uint8Array(
  Buffer.from(
    "AAAAdgAAAFKW1freCzpldmVudC10eXBlBwAMbWVzc2FnZVN0YXJ0DTpjb250ZW50LXR5cGUHABBhcHBsaWNhdGlvbi9qc29uDTptZXNzYWdlLXR5cGUHAAVldmVudHsicm9sZSI6ImFzc2lzdGFudCJ9b6jFmQAAAJUAAABXicuzXgs6ZXZlbnQtdHlwZQcAEWNvbnRlbnRCbG9ja0RlbHRhDTpjb250ZW50LXR5cGUHABBhcHBsaWNhdGlvbi9qc29uDTptZXNzYWdlLXR5cGUHAAVldmVudHsiY29udGVudEJsb2NrSW5kZXgiOjAsImRlbHRhIjp7InRleHQiOiJIZWwifX1kE6d2AAAAiAAAAGHeAXX0DzpleGNlcHRpb24tdHlwZQcAE3Rocm90dGxpbmdFeGNlcHRpb24NOmNvbnRlbnQtdHlwZQcAEGFwcGxpY2F0aW9uL2pzb24NOm1lc3NhZ2UtdHlwZQcACWV4Y2VwdGlvbnsibWVzc2FnZSI6InNsb3cgZG93biJ9gy7gcg==",
    "base64",
  ),
);

interface Seen {
  readonly frames: { readonly headers: Record<string, string>; readonly payload: string }[];
  readonly sound: boolean;
}

function read(pieces: readonly Uint8Array[]): Seen {
  const frames: Seen["frames"] = [];
  const framer = new EventStreamFramer((headers, bytes, start, end) => {
    frames.push({ headers: Object.fromEntries(headers), payload: textOf(bytes.subarray(start, end)) });
  });
  let sound = true;
  for (const piece of pieces) sound = framer.push(piece);
  return { frames, sound };
}

describe("frames", () => {
  it("BH-17: the case's three are read, headers and payloads", () => {
    expect(read([BH_17])).toMatchObject({
      sound: true,
      frames: [
        { headers: { ":event-type": "messageStart" }, payload: '{"role":"assistant"}' },
        { headers: { ":event-type": "contentBlockDelta", ":message-type": "event" } },
        {
          headers: { ":exception-type": "throttlingException", ":message-type": "exception" },
          payload: '{"message":"slow down"}',
        },
      ],
    });
  });

  it("P4: cut anywhere they are the same", () => {
    const bytes = concat([BH_17, frame({ x: "x".repeat(300) }, "é".repeat(2000))]);
    const whole = read([bytes]);
    expect(whole.frames).toHaveLength(4);
    fc.assert(
      fc.property(cuts, (places) => {
        expect(read(cutAt(bytes, places))).toStrictEqual(whole);
      }),
    );
  });

  it("headers of every type are passed over; text is read", () => {
    const header = (type: number, value: readonly number[]): number[] => [1, 0x61 + type, type, ...value];
    const bytes = [
      ...header(0, []),
      ...header(1, []),
      ...header(2, [1]),
      ...header(3, [1, 2]),
      ...header(4, [1, 2, 3, 4]),
      ...header(5, [1, 2, 3, 4, 5, 6, 7, 8]),
      ...header(6, [0, 2, 9, 9]),
      ...header(7, [0, 2, 0x6f, 0x6b]),
      ...header(8, [1, 2, 3, 4, 5, 6, 7, 8]),
      ...header(
        9,
        Array.from({ length: 16 }, () => 7),
      ),
    ];
    expect(read([rawFrame(Uint8Array.from(bytes), bytesOf("{}"))]).frames).toStrictEqual([
      { headers: { h: "ok" }, payload: "{}" },
    ]);
  });

  it("one wrong bit anywhere is noticed, and nothing is read after it", () => {
    const one = frame({ ":message-type": "event" }, { a: 1 });
    fc.assert(
      fc.property(fc.nat(one.length - 1), fc.nat(7), (place, bit) => {
        const bent = Uint8Array.from(one);
        bent[place] = (bent[place] as number) ^ (1 << bit);
        const seen = read([bent, one, one]);
        expect(seen).toStrictEqual({ frames: [], sound: false });
      }),
    );
  });

  it("a frame beyond all bounds is none, before it is gathered", () => {
    const start = Uint8Array.from([0, 0, 0, 0, 0, 0, 0, 0]);
    new DataView(start.buffer).setUint32(0, MAX_EVENT_BYTES + 1);
    const check = new Uint8Array(4);
    new DataView(check.buffer).setUint32(0, crc32(start, 0, 8));
    expect(read([start, check]).sound).toBe(false);
  });

  it("headers that do not fit their length are damaged, whatever the checksum", () => {
    for (const headers of [
      [5, 0x61],
      [1, 0x61, 99],
      [1, 0x61, 7, 0],
      [1, 0x61, 7, 0, 9, 1],
      [1, 0x61, 4, 1],
    ]) {
      expect(read([rawFrame(Uint8Array.from(headers), bytesOf("{}"))]).sound).toBe(false);
    }
  });

  it("bytes that are no frames throw nothing and give nothing", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(read([bytes]).frames).toStrictEqual([]);
      }),
    );
  });
});

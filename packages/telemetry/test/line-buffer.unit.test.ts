import { describe, expect, it } from "vitest";
import { LineBuffer } from "../src/line-buffer.ts";

const full = (): never => {
  throw Object.assign(new Error("full"), { code: "EAGAIN" });
};

describe("LineBuffer", () => {
  it("gathers lines into one write", () => {
    const writes: string[] = [];
    const lines = new LineBuffer((bytes) => writes.push(Buffer.from(bytes).toString()) && bytes.length);
    lines.write("a\n");
    lines.write("ü\n");
    lines.flush();
    expect(writes).toEqual(["a\nü\n"]);
  });

  it("writes the rest when a reader takes only a part, and loses nothing while it is full", () => {
    let blocked = true;
    let got = "";
    const lines = new LineBuffer((bytes) => {
      if (blocked) full();
      got += Buffer.from(bytes.subarray(0, 3)).toString("latin1");
      return Math.min(3, bytes.length);
    });
    lines.write("first\n");
    lines.flush();
    lines.write("second\n");
    blocked = false;
    lines.flush();
    expect(got).toBe("first\nsecond\n");
  });

  it("keeps a bounded amount for a reader that does not read, and says what it dropped", () => {
    let blocked = true;
    let got = "";
    const lines = new LineBuffer((bytes) => {
      if (blocked) full();
      got += Buffer.from(bytes).toString("latin1");
      return bytes.length;
    });
    const line = `${"x".repeat(99)}\n`;
    for (let n = 0; n < 20_000; n++) lines.write(line);
    blocked = false;
    lines.flush();
    expect(got.length).toBeLessThan(1_200_000);
    lines.flush();
    expect(got).toMatch(/"message":"\d+ log lines were dropped/);
  });

  it("goes on when the reader is gone", () => {
    const lines = new LineBuffer(() => {
      throw Object.assign(new Error("gone"), { code: "EPIPE" });
    });
    lines.write("a\n");
    expect(() => lines.flush()).not.toThrow();
  });
});

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { type Part, writeParts } from "../src/index.ts";

const open: { destroy(): unknown }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.destroy();
});

async function pair(): Promise<{ near: Socket; far: Socket }> {
  const server = createServer().listen(0, "127.0.0.1");
  open.push({ destroy: () => server.close() });
  await once(server, "listening");
  const near = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [far] = (await once(server, "connection")) as [Socket];
  open.push(near, far);
  return { near, far };
}

test("what a slow reader has not taken is not written over by what goes out next, to it or to others", async () => {
  const slow = await pair();
  const quick = await pair();
  slow.far.pause();
  quick.far.resume();
  const sent: Buffer[] = [];
  // Each write but the last fits into the kernel's buffers; then some that do not.
  for (let i = 0, late = 0; i < 20_000 && late < 100; i += 1) {
    const fill = i.toString(16).padStart(4, "0");
    const parts: Part[] = [fill.repeat(500), Buffer.from(fill)];
    if (late === 50) parts.push(Buffer.alloc(40_000, fill), fill);
    writeParts(slow.near, parts);
    sent.push(...parts.map((part) => Buffer.from(part as string)));
    if (slow.near.writableLength > 0) {
      late += 1;
      writeParts(quick.near, ["x".repeat(3000)]);
    }
  }
  expect(slow.near.writableLength).toBeGreaterThan(0);
  const want = Buffer.concat(sent);
  let at = 0;
  slow.far.on("data", (bytes: Buffer) => {
    expect(bytes.equals(want.subarray(at, at + bytes.length))).toBe(true);
    at += bytes.length;
    if (at === want.length) slow.far.emit("whole");
  });
  const whole = once(slow.far, "whole");
  slow.far.resume();
  await whole;
  expect(at).toBe(want.length);
});

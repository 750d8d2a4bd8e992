import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { bench, type Bench, chunk, type Handler, head, JSON_TYPE, TRAILER } from "./support.ts";
import { CHAT, chat, VECTORS } from "./vectors.ts";

/** Ends every connection that still reads requests. */
const LAST = "GET /v1/models?last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
const STALL_MS = 150;

/** Says all that reached the call, so that any difference in reading is one in the answer. */
const tell: Handler = ({ method, path, query, headers, body }, sink, call) => {
  const key = call.header("authorization") ?? null;
  const told = { method, path, query, headers, key, body: Buffer.from(body).toString("latin1") };
  sink.send(head(200, JSON_TYPE));
  sink.send(chunk(JSON.stringify(told)));
  sink.send(TRAILER);
  sink.end();
};

interface Lanes extends AsyncDisposable {
  readonly fast: Bench;
  readonly node: Bench;
}

async function openLanes(): Promise<Lanes> {
  const options = { stallTimeoutMs: STALL_MS, nativePaths: () => new Set(["/v1/native"]) };
  const fast = await bench({ ...options, fastLane: true });
  const node = await bench({ ...options, fastLane: false });
  fast.handler = tell;
  node.handler = tell;
  return {
    fast,
    node,
    async [Symbol.asyncDispose]() {
      await Promise.all([fast[Symbol.asyncDispose](), node[Symbol.asyncDispose]()]);
    },
  };
}

/** Sends the pieces one by one and gives all that came until the connection closed or was silent, less what differs by nature. */
async function exchange(port: number, pieces: readonly Buffer[], halfClose = false): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
  const got: Buffer[] = [];
  const end = new Promise<string>((resolve) => {
    socket.on("data", (bytes) => got.push(bytes as Buffer));
    socket.on("end", () => socket.end());
    socket.on("error", () => {});
    socket.on("close", () => resolve(""));
    socket.setTimeout(5 * STALL_MS, () => resolve("[open]"));
  });
  for (const piece of pieces) {
    if (socket.writable) socket.write(piece);
    await sleep(2);
  }
  if (halfClose) socket.end();
  const how = await end;
  socket.destroy();
  const text = Buffer.concat(got)
    .toString("latin1")
    .replaceAll(/^Date: .*$/gm, "Date")
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "id");
  const whole = text.split(/(?=HTTP\/1\.1 \d{3} )/);
  // Nobody reads on after an answer that ends the connection. What stands there depends on how node:http got the bytes.
  const last = whole.findIndex((answer) => /^connection: close\r$/im.test(answer));
  const heard = last === -1 ? whole : whole.slice(0, last + 1);
  // Behind an answer node:http tells of junk only where that answer happened to be out before the junk was parsed.
  if (heard.length > 1 && heard.at(-1)?.includes("this is not well-formed HTTP/1.1")) heard.pop();
  return heard.join("") + how;
}

/**
 * Where the lanes' answers differ. Whether two pieces are read together is the kernel's affair, and node:http answers
 * some sequences by that; so what differs is asked again.
 */
async function difference(
  lanes: Lanes,
  pieces: readonly Buffer[],
  halfClose = false,
): Promise<{ sent: string[]; fast: string; node: string } | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const [fast, node] = await Promise.all([
      exchange(lanes.fast.port, pieces, halfClose),
      exchange(lanes.node.port, pieces, halfClose),
    ]);
    if (fast === node) return undefined;
    // Node:http refuses a good request whose answer is not out yet when junk came with its end.
    const single = singleBytes(pieces);
    if (single.length < 1000 && fast === (await exchange(lanes.node.port, single, halfClose)))
      return undefined;
    if (attempt === 4) return { sent: pieces.map((piece) => piece.toString("latin1")), fast, node };
  }
}

function singleBytes(pieces: readonly Buffer[]): Buffer[] {
  return Array.from(Buffer.concat(pieces), (byte) => Buffer.of(byte));
}

const bytes = (...texts: string[]): Buffer[] => texts.map((text) => Buffer.from(text, "latin1"));
test.concurrent.each(Object.entries(VECTORS))("both lanes read alike: %s", async (_name, text) => {
  await using lanes = await openLanes();
  const [whole = Buffer.alloc(0), last = Buffer.alloc(0)] = bytes(text, LAST);
  expect(await difference(lanes, [whole, last])).toBeUndefined();
  expect(await difference(lanes, [whole.subarray(0, 40), whole.subarray(40), last])).toBeUndefined();
  expect(await difference(lanes, [whole.subarray(0, -1), whole.subarray(-1), last])).toBeUndefined();
});

test.concurrent.each([
  ["in the head", chat("Host: h\r\nContent-Length: 2", "").slice(0, 60)],
  ["in the body", chat("Host: h\r\nContent-Length: 9", "{}")],
  ["in a refused body", chat("Host: h\r\nContent-Encoding: zebra\r\nContent-Length: 9", "{}")],
  ["after an answer", chat("Host: h\r\nContent-Length: 2", "{}")],
  ["before anything", ""],
])("both lanes take a caller's half-close alike: %s", async (_name, text) => {
  await using lanes = await openLanes();
  expect(await difference(lanes, bytes(text), true)).toBeUndefined();
});

const LINES = [
  "Host: h",
  "Content-Length: 2",
  "Content-Length: 5",
  "content-length:7",
  "Transfer-Encoding: chunked",
  "Connection: keep-alive",
  "Connection: close",
  "x-request-id: mine",
  "Authorization: Bearer k",
  "Content-Type: application/json",
  "Content-Encoding: identity",
  "Expect: 100-continue",
  "X-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];
const ODD = ["\r", "\n", "\0", " ", "\t", ":", "\r\n", "\v", "\u00ff", "0", ",", "\r\n ", "-", "+"];

const plain = fc.record({
  path: fc.constantFrom("/v1/chat/completions", "/v1/messages?beta", "/v1/responses/", "/v1/native", "/x"),
  lines: fc.shuffledSubarray(LINES.slice(5), { maxLength: 4 }),
  body: fc.string({ maxLength: 40 }),
});

const plainText = plain.map(({ path, lines, body }) =>
  [`POST ${path} HTTP/1.1`, "Host: h", ...lines, `Content-Length: ${Buffer.byteLength(body)}`, "", body].join(
    "\r\n",
  ),
);

const anyLines = fc
  .record({
    lines: fc.array(fc.constantFrom(...LINES), { maxLength: 6 }),
    body: fc.string({ maxLength: 12 }),
  })
  .map(({ lines, body }) => [CHAT, ...lines, "", body].join("\r\n"));

const mutated = fc
  .tuple(
    plainText,
    fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(...ODD), fc.nat(2))),
  )
  .map(([text, edits]) => {
    let out = text;
    for (const [where, odd, drop] of edits.slice(0, 3)) {
      const at = Math.floor(where * out.length);
      out = out.slice(0, at) + odd + out.slice(at + drop);
    }
    return out;
  });

const cut = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 3 });
const sample = fc.tuple(fc.oneof(plainText, anyLines, mutated), cut);

test("both lanes answer random and mutated requests in random cuts alike", { timeout: 120_000 }, async () => {
  await using lanes = await openLanes();
  await fc.assert(
    fc.asyncProperty(fc.array(sample, { minLength: 1, maxLength: 24 }), async (samples) => {
      const found = await Promise.all(
        samples.map(([text, cuts]) => {
          const whole = Buffer.from(text, "latin1");
          const ends = cuts.map((at) => Math.floor(at * whole.length)).toSorted((a, b) => a - b);
          const pieces = [...ends, whole.length].map((end, at) => whole.subarray(ends[at - 1] ?? 0, end));
          return difference(lanes, [...pieces.filter((piece) => piece.length > 0), Buffer.from(LAST)]);
        }),
      );
      expect(found.filter((one) => one !== undefined)).toEqual([]);
    }),
    { numRuns: 40 },
  );
});

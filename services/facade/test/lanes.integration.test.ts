import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { bench, type Bench, chunk, type Handler, head, JSON_TYPE, TRAILER } from "./support.ts";

const CHAT = "POST /v1/chat/completions HTTP/1.1";
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
  const options = { stallTimeoutMs: STALL_MS, nativePaths: () => ["/v1/native"] };
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
  return heard.join("") + how;
}

/**
 * What both lanes answer. Whether two pieces are read together is the kernel's affair, and node:http answers some
 * sequences by that; so what differs is asked again.
 */
async function compare(lanes: Lanes, pieces: readonly Buffer[], halfClose = false): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const [fast, node] = await Promise.all([
      exchange(lanes.fast.port, pieces, halfClose),
      exchange(lanes.node.port, pieces, halfClose),
    ]);
    if (fast === node) return;
    // Node:http refuses a good request whose answer is not out yet when junk came with its end.
    const single = singleBytes(pieces);
    if (single.length < 1000 && fast === (await exchange(lanes.node.port, single, halfClose))) return;
    if (attempt < 4) continue;
    const sent = pieces.map((piece) => piece.toString("latin1"));
    expect({ sent, answer: fast }).toEqual({ sent, answer: node });
  }
}

function singleBytes(pieces: readonly Buffer[]): Buffer[] {
  return Array.from(Buffer.concat(pieces), (byte) => Buffer.of(byte));
}

const bytes = (...texts: string[]): Buffer[] => texts.map((text) => Buffer.from(text, "latin1"));
const chat = (lines: string, body: string): string => `${CHAT}\r\n${lines}\r\n\r\n${body}`;
const INNER = "POST /v1/messages HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nok";

const VECTORS: Record<string, string> = {
  "CL.CL, different": chat("Host: h\r\nContent-Length: 2\r\nContent-Length: 4", "{}{}"),
  "CL.CL, equal": chat("Host: h\r\nContent-Length: 2\r\nContent-Length: 2", "{}"),
  "CL as a list": chat("Host: h\r\nContent-Length: 2, 2", "{}"),
  "CL.TE": chat("Host: h\r\nContent-Length: 6\r\nTransfer-Encoding: chunked", `0\r\n\r\n${INNER}`),
  "TE.CL": chat("Host: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 4", `2\r\n{}\r\n0\r\n\r\n${INNER}`),
  "TE obscured": chat("Host: h\r\nTransfer-Encoding: xchunked\r\nContent-Length: 2", "{}"),
  "TE in capitals, space before colon": chat(
    "Host: h\r\nTransfer-Encoding : chunked\r\nContent-Length: 2",
    "{}",
  ),
  "TE folded": chat("Host: h\r\nTransfer-Encoding:\r\n chunked\r\nContent-Length: 2", "{}"),
  "TE twice": chat(
    "Host: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    "2\r\n{}\r\n0\r\n\r\n",
  ),
  "TE chunked": chat("Host: h\r\nTransfer-Encoding: chunked", "2;x=y\r\n{}\r\n0\r\nt: v\r\n\r\n"),
  "CL negative": chat("Host: h\r\nContent-Length: -2", "{}"),
  "CL with plus": chat("Host: h\r\nContent-Length: +2", "{}"),
  "CL in hex": chat("Host: h\r\nContent-Length: 0x2", "{}"),
  "CL with zeros": chat("Host: h\r\nContent-Length: 0002", "{}"),
  "CL empty": chat("Host: h\r\nContent-Length:", ""),
  "CL zero": chat("Host: h\r\nContent-Length: 0", ""),
  "CL beyond counting": chat("Host: h\r\nContent-Length: 99999999999999999999", "{}"),
  "CL wraps at 64 bits": chat("Host: h\r\nContent-Length: 18446744073709551618", "{}"),
  "CL over the limit": chat("Host: h\r\nContent-Length: 2000000", "{}"),
  "CL in tabs and spaces": chat("Host: h\r\nContent-Length: \t 2 \t", "{}"),
  "CL with a space inside": chat("Host: h\r\nContent-Length: 2 2", "{}"),
  "CL after a vertical tab": chat("Host: h\r\nContent-Length: \v2", "{}"),
  "CL too short": chat("Host: h\r\nContent-Length: 2", `{}${INNER}`),
  "CL missing": chat("Host: h", `${INNER}`),
  "name with a space": chat("Host: h\r\nContent-Length : 2", "{}"),
  "name with a tab": chat("Host: h\r\nContent-Length\t: 2", "{}"),
  "name with NUL": chat("Host: h\r\nContent-Length\0: 2", "{}"),
  "name empty": chat("Host: h\r\n: x\r\nContent-Length: 2", "{}"),
  "name from Latin-1": chat("Host: h\r\nCont\u00e9nt: x\r\nContent-Length: 2", "{}"),
  "no colon": chat("Host: h\r\nnonsense\r\nContent-Length: 2", "{}"),
  "value with NUL": chat("Host: h\r\nx: a\0b\r\nContent-Length: 2", "{}"),
  "value with DEL": chat("Host: h\r\nx: a\x7fb\r\nContent-Length: 2", "{}"),
  "value from Latin-1": chat("Host: h\r\nx: caf\u00e9\r\nContent-Length: 2", "{}"),
  "value with bare CR": chat("Host: h\r\nx: a\rContent-Length: 9\r\nContent-Length: 2", "{}"),
  "value with bare LF": chat("Host: h\r\nx: a\nContent-Length: 9\r\nContent-Length: 2", "{}"),
  "lone LF everywhere": `${CHAT}\nHost: h\nContent-Length: 2\n\n{}`,
  "lone LF at the head's end": `${CHAT}\r\nHost: h\r\nContent-Length: 2\n\n{}`,
  "CR CR LF": chat("Host: h\r\r\nContent-Length: 2", "{}"),
  "folded value": chat("Host: h\r\nx: a\r\n b\r\nContent-Length: 2", "{}"),
  "folded first line": chat(" Host: h\r\nHost: h\r\nContent-Length: 2", "{}"),
  "no host": chat("x: y\r\nContent-Length: 2", "{}"),
  "two hosts": chat("Host: h\r\nHost: i\r\nContent-Length: 2", "{}"),
  "empty host": chat("Host:\r\nContent-Length: 2", "{}"),
  "HTTP/1.0": "POST /v1/chat/completions HTTP/1.0\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}",
  "HTTP/1.2": "POST /v1/chat/completions HTTP/1.2\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}",
  "HTTP/2 preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "lower-case method": "post /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}",
  "two spaces": "POST  /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}",
  "space after the version": "POST /v1/chat/completions HTTP/1.1 \r\nHost: h\r\nContent-Length: 2\r\n\r\n{}",
  "tab in the target": "POST /v1/chat\tx HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}",
  "absolute target": "POST http://h/v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}",
  "fragment in the target": "GET /v1/models#x HTTP/1.1\r\nHost: h\r\n\r\n",
  "odd characters in the query": 'GET /v1/models?"<>\\^`{|} HTTP/1.1\r\nHost: h\r\n\r\n',
  "empty lines before": `\r\n\r\n${chat("Host: h\r\nContent-Length: 2", "{}")}`,
  "an empty line after": `${chat("Host: h\r\nContent-Length: 2", "{}")}\r\n`,
  "two together": `${chat("Host: h\r\nContent-Length: 2", "{}")}${INNER}`,
  "connection close": chat("Host: h\r\nConnection: close\r\nContent-Length: 2", "{}"),
  "connection names a header": chat("Host: h\r\nX-A: 1\r\nConnection: x-a\r\nContent-Length: 2", "{}"),
  "connection keep-alive": chat("Host: h\r\nConnection: Keep-Alive\r\nContent-Length: 2", "{}"),
  "proxy-connection": chat("Host: h\r\nProxy-Connection: close\r\nContent-Length: 2", "{}"),
  upgrade: chat("Host: h\r\nConnection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 2", "{}"),
  expect: chat("Host: h\r\nExpect: 100-continue\r\nContent-Length: 2", "{}"),
  "unknown expectation": chat("Host: h\r\nExpect: x\r\nContent-Length: 2", "{}"),
  "coding unknown": chat("Host: h\r\nContent-Encoding: zebra\r\nContent-Length: 2", "{}"),
  "coding damaged": chat("Host: h\r\nContent-Encoding: gzip\r\nContent-Length: 2", "{}"),
  "coding identity": chat("Host: h\r\nContent-Encoding: identity\r\nContent-Length: 2", "{}"),
  "head over 16 KiB": chat(`Host: h\r\nx: ${"a".repeat(20_000)}\r\nContent-Length: 2`, "{}"),
  "head over 64 KiB": chat(`Host: h\r\nx: ${"a".repeat(70_000)}\r\nContent-Length: 2`, "{}"),
  "257 headers": chat(`Host: h\r\n${"x: y\r\n".repeat(257)}Content-Length: 2`, "{}"),
  "256 headers": chat(`Host: h\r\n${"x: y\r\n".repeat(250)}Content-Length: 2`, "{}"),
  "key twice": chat("Host: h\r\nx-api-key: k1\r\nAuthorization: Bearer k2\r\nContent-Length: 2", "{}"),
  "GET with a body": "GET /v1/models HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}",
  HEAD: "HEAD /v1/models HTTP/1.1\r\nHost: h\r\n\r\n",
  native: "PUT /v1/native?a=b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}",
  "native, any method": "OPTIONS /v1/native HTTP/1.1\r\nHost: h\r\n\r\n",
  "no such path": "GET /nothing HTTP/1.1\r\nHost: h\r\n\r\n",
  "no such method": "GET /v1/chat/completions HTTP/1.1\r\nHost: h\r\n\r\n",
  "path too long": `GET /v1/models/${"m".repeat(3000)} HTTP/1.1\r\nHost: h\r\n\r\n`,
  "no HTTP": "hello\r\n\r\n",
  "no HTTP, without an end": "hello",
  TLS: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
};

test.concurrent.each(Object.entries(VECTORS))("both lanes read alike: %s", async (_name, text) => {
  await using lanes = await openLanes();
  const [whole = Buffer.alloc(0), last = Buffer.alloc(0)] = bytes(text, LAST);
  await compare(lanes, [whole, last]);
  await compare(lanes, [whole.subarray(0, 40), whole.subarray(40), last]);
  await compare(lanes, [whole.subarray(0, -1), whole.subarray(-1), last]);
});

test.concurrent.each([
  ["in the head", chat("Host: h\r\nContent-Length: 2", "").slice(0, 60)],
  ["in the body", chat("Host: h\r\nContent-Length: 9", "{}")],
  ["in a refused body", chat("Host: h\r\nContent-Encoding: zebra\r\nContent-Length: 9", "{}")],
  ["after an answer", chat("Host: h\r\nContent-Length: 2", "{}")],
  ["before anything", ""],
])("both lanes take a caller's half-close alike: %s", async (_name, text) => {
  await using lanes = await openLanes();
  await compare(lanes, bytes(text), true);
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
      await Promise.all(
        samples.map(async ([text, cuts]) => {
          const whole = Buffer.from(text, "latin1");
          const ends = cuts.map((at) => Math.floor(at * whole.length)).toSorted((a, b) => a - b);
          const pieces = [...ends, whole.length].map((end, at) => whole.subarray(ends[at - 1] ?? 0, end));
          await compare(lanes, [...pieces.filter((piece) => piece.length > 0), Buffer.from(LAST)]);
        }),
      );
    }),
    { numRuns: 40 },
  );
});

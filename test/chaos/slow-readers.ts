import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { CH, DONE, flood, floodText, rawHttp, rawRequest, sse } from "@switchyard/testkit";
import type { Answer, RawHttpClient } from "@switchyard/testkit";
import { CALLER_KEY } from "./chat.ts";
import type { Cluster } from "./cluster.ts";

const EVENTS_PER_MIB = 1024;
const KEPT_CHARACTERS = 1_000;

const event = (content: string): string => CH({ content }, null);

const END = CH({}, "stop") + DONE;

/** A caller's dialect: the path, and what of the answer is hashed. */
export type Dialect = "chat" | "messages";

/** A stream of that many MiB of text, written as fast as it is taken. */
export function floodOf(mib: number): Answer {
  return sse([flood(mib * EVENTS_PER_MIB, event), END]);
}

/** SHA-256 of its bytes, which pass to a caller of chat, or of its text alone, which one of messages gets in other words. */
export function hashOfFlood(mib: number, dialect: Dialect): string {
  const hash = createHash("sha256");
  for (let n = 0; n < mib * EVENTS_PER_MIB; n += 1) {
    hash.update(dialect === "chat" ? event(floodText(n)) : floodText(n));
  }
  return (dialect === "chat" ? hash.update(END) : hash).digest("hex");
}

/** The text of Anthropic's events as it comes, in whatever pieces. */
function textsOf(onText: (text: string) => void): (chunk: Buffer) => void {
  let line = "";
  return (chunk) => {
    const lines = (line + chunk.toString("latin1")).split("\n");
    line = lines.pop() ?? "";
    for (const one of lines) {
      const text = /"text_delta","text":"([^"]*)"/.exec(one)?.[1];
      if (text !== undefined) onText(text);
    }
  };
}

/** A caller that reads the head of a stream and then nothing, until `resume`. */
export interface SlowReader {
  readonly client: RawHttpClient;
  /** SHA-256 of the body read so far; of its text alone where the dialect is `messages`. */
  hash(): string;
  /** The last of it. */
  text(): string;
}

export async function slowReader(face: string, dialect: Dialect = "chat"): Promise<SlowReader> {
  const hash = createHash("sha256");
  const onTexts = textsOf((text) => hash.update(text));
  let last = "";
  const messages = [{ role: "user", content: "hi" }];
  const body = JSON.stringify({ model: "g", stream: true, max_tokens: 9, messages });
  const request = rawRequest(
    "POST",
    dialect === "chat" ? "/v1/chat/completions" : "/v1/messages",
    [
      ["Authorization", `Bearer ${CALLER_KEY}`],
      ["Content-Type", "application/json"],
    ],
    body,
  );
  const client = await rawHttp(Number(new URL(face).port), request, {
    receiveBuffer: 16 * 1024,
    pauseAfterHead: true,
    keepBody: false,
    onBody: (chunk) => {
      if (dialect === "chat") hash.update(chunk);
      else onTexts(chunk);
      last = (last + chunk.toString("latin1")).slice(-KEPT_CHARACTERS);
    },
  });
  return { client, hash: () => hash.copy().digest("hex"), text: () => last };
}

/** Resident memory of each process, MiB. */
export function rssOf(cluster: Cluster): Promise<number[]> {
  return Promise.all(cluster.members.map((member) => member.rssMib()));
}

/** Bytes that the kernel holds, sent and not read, on loopback connections from or to these ports. Linux only. */
export async function queuedBytes(ports: readonly number[]): Promise<number> {
  const rows = (await readFile("/proc/net/tcp", "utf8")).trim().split("\n").slice(1);
  let sum = 0;
  for (const row of rows) {
    const [, local = "", remote = "", , queues = ""] = row.trim().split(/\s+/);
    if (![local, remote].some((address) => ports.includes(Number.parseInt(address.split(":")[1] ?? "", 16))))
      continue;
    for (const queue of queues.split(":")) sum += Number.parseInt(queue, 16);
  }
  return sum;
}

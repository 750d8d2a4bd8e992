import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import type { Answer } from "./answers.ts";
import { BodyEncoder, encodeBody } from "./encoding.ts";
import type { Control, Step } from "./steps.ts";
import type { HeaderPair } from "./wire-reader.ts";

/** How the writer left the socket: still usable, to be ended, or to be reset. */
export type Afterwards = "keep" | "end" | "reset";

export interface WriteContext {
  readonly socket: Socket;
  /** Aborts when the socket has closed. */
  readonly signal: AbortSignal;
  readonly flushMs: number;
  /** The answer to HEAD has no body. */
  readonly headOnly: boolean;
  readonly onAccepted: (bytes: number) => void;
}

/** Plays one answer on a socket. Rejects when the peer goes away; never outlives `signal`. */
export async function writeAnswer(answer: Answer, context: WriteContext): Promise<Afterwards> {
  const { signal } = context;
  if (answer.delayMs !== undefined) await sleep(answer.delayMs, undefined, { signal });
  const settled = await settle(answer);
  const encoder =
    settled.encoding !== undefined && settled.framing !== "length"
      ? new BodyEncoder(settled.encoding)
      : undefined;
  try {
    return await new AnswerWriter(settled, context, encoder).run();
  } finally {
    encoder?.destroy();
  }
}

class AnswerWriter {
  readonly #answer: Answer;
  readonly #context: WriteContext;
  readonly #encoder: BodyEncoder | undefined;
  #head: Buffer | undefined;
  #group: Buffer[] = [];

  constructor(answer: Answer, context: WriteContext, encoder: BodyEncoder | undefined) {
    this.#answer = answer;
    this.#context = context;
    this.#encoder = encoder;
    if (answer.framing !== "verbatim") this.#head = Buffer.from(headText(answer), "latin1");
  }

  async run(): Promise<Afterwards> {
    if (this.#context.headOnly) return await this.#finish();
    for (const step of this.#answer.steps) {
      if (isControl(step)) {
        const afterwards = await this.#control(step);
        if (afterwards !== undefined) return afterwards;
      } else this.#group.push(Buffer.from(step));
    }
    return await this.#finish();
  }

  async #control(step: Control): Promise<Afterwards | undefined> {
    if (step.do === "eof") return await this.#finish();
    await this.#flush();
    const { signal, flushMs } = this.#context;
    switch (step.do) {
      case "flush":
        if (step.ms !== 0) await sleep(step.ms ?? flushMs, undefined, { signal });
        return undefined;
      case "until":
        await Promise.race([step.opened, aborted(signal)]);
        return undefined;
      case "flood":
        for (const events of step.blocks()) await this.#block(events);
        return undefined;
      case "fin":
        return "end";
      case "rst":
        return "reset";
      default:
        return await aborted(signal);
    }
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#group);
    this.#group = [];
    const body = bytes.length > 0 && this.#encoder ? await this.#encoder.write(bytes) : bytes;
    await this.#write(this.#frame(body));
  }

  async #block(events: readonly string[]): Promise<void> {
    const frames: Buffer[] = [];
    for (const event of events) {
      const bytes = Buffer.from(event);
      frames.push(this.#frame(this.#encoder ? await this.#encoder.write(bytes) : bytes));
    }
    await this.#write(Buffer.concat(frames));
  }

  async #finish(): Promise<Afterwards> {
    const { framing, trailers = [], headers } = this.#answer;
    const closes = headers.some(
      ([name, value]) => name.toLowerCase() === "connection" && /\bclose\b/i.test(value),
    );
    const afterwards = framing === "close" || closes ? "end" : "keep";
    if (this.#context.headOnly) {
      await this.#write(Buffer.alloc(0));
      return afterwards;
    }
    if (this.#encoder) {
      const grouped = Buffer.concat(this.#group);
      const encoded = grouped.length > 0 ? await this.#encoder.write(grouped) : grouped;
      this.#group = [encoded, await this.#encoder.end()];
    }
    const last =
      framing === "chunked" ? `0\r\n${trailers.map(([n, v]) => `${n}: ${v}\r\n`).join("")}\r\n` : "";
    const body = this.#frame(Buffer.concat(this.#group));
    this.#group = [];
    await this.#write(Buffer.concat([body, Buffer.from(last, "latin1")]));
    return afterwards;
  }

  #frame(body: Buffer): Buffer {
    if (this.#answer.framing !== "chunked" || body.length === 0) return body;
    return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n")]);
  }

  /** Resolves once the kernel has the bytes: that is the back-pressure, and it lets a reset follow the data. */
  async #write(body: Buffer): Promise<void> {
    const bytes = this.#head ? Buffer.concat([this.#head, body]) : body;
    this.#head = undefined;
    if (bytes.length === 0) return;
    const { socket, onAccepted } = this.#context;
    await new Promise<void>((resolve, reject) => {
      socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
    onAccepted(bytes.length);
  }
}

/** Gives a body with a length its framing header, encoded as a whole where a coding is asked for. */
async function settle(answer: Answer): Promise<Answer> {
  if (answer.framing === "chunked") return withHeader(answer, ["Transfer-Encoding", "chunked"]);
  if (answer.framing !== "length") return answer;
  const steps =
    answer.encoding === undefined ? answer.steps : await encodeSteps(answer.steps, answer.encoding);
  const size = steps.reduce((sum, step) => sum + (isControl(step) ? 0 : Buffer.byteLength(step)), 0);
  return withHeader({ ...answer, steps }, ["Content-Length", String(size)]);
}

async function encodeSteps(
  steps: readonly Step[],
  encoding: NonNullable<Answer["encoding"]>,
): Promise<Step[]> {
  const plain = Buffer.concat(steps.flatMap((step) => (isControl(step) ? [] : [Buffer.from(step)])));
  return [await encodeBody(encoding, plain), ...steps.filter(isControl)];
}

function withHeader(answer: Answer, header: HeaderPair): Answer {
  const given = answer.headers.some(([name]) => name.toLowerCase() === header[0].toLowerCase());
  return given ? answer : { ...answer, headers: [...answer.headers, header] };
}

function headText({ status, reason, headers }: Answer): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `HTTP/1.1 ${status} ${reason ?? STATUS_CODES[status] ?? "Unknown"}\r\n${lines}\r\n`;
}

function isControl(step: Step): step is Control {
  return typeof step === "object" && !(step instanceof Uint8Array);
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const gone = () => reject(new Error("connection closed"));
    if (signal.aborted) gone();
    else signal.addEventListener("abort", gone, { once: true });
  });
}

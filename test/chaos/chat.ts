/** One answered or failed chat request, as its caller met it. Times are `performance.now()` milliseconds. */
export interface Answered {
  /** 0 when no HTTP answer came. */
  readonly status: number;
  /** The assistant's words, or what went wrong. */
  readonly text: string;
  readonly sentAt: number;
  readonly ms: number;
}

export const CALLER_KEY = "ck-test-1";
export const ADMIN_KEY = "ck-admin-1";
export const ENV = {
  UPKEY_A: "UPKEY-A-5c1f",
  UPKEY_B: "UPKEY-B-9e2d",
  CALLER_KEY,
  ADMIN_KEY,
} as const;

const REQUEST_WITHIN_MS = 20_000;

export async function chat(
  face: string,
  body: Readonly<Record<string, unknown>> = {},
  signal = AbortSignal.timeout(REQUEST_WITHIN_MS),
): Promise<Answered> {
  const sentAt = performance.now();
  try {
    const response = await fetch(`${face}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "g", messages: [{ role: "user", content: "hi" }], ...body }),
      signal,
    });
    const text = await response.text();
    return { status: response.status, text: wordsOf(text), sentAt, ms: performance.now() - sentAt };
  } catch (error) {
    return { status: 0, text: String(error), sentAt, ms: performance.now() - sentAt };
  }
}

function wordsOf(body: string): string {
  try {
    const { choices } = JSON.parse(body) as { choices?: { message?: { content?: string } }[] };
    return choices?.[0]?.message?.content ?? body;
  } catch {
    return body;
  }
}

/** Requests at an even pace, turn by turn to each face, however long each takes. */
export class Traffic {
  readonly answers: Answered[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #sent = 0;

  constructor(faces: readonly string[], perSecond: number, body: Readonly<Record<string, unknown>> = {}) {
    this.#timer = setInterval(() => {
      const face = faces[this.#sent % faces.length] as string;
      this.#sent += 1;
      const one = this.#ask(face, body);
      this.#running.add(one);
      void one.finally(() => this.#running.delete(one));
    }, 1000 / perSecond);
  }

  get failed(): readonly Answered[] {
    return this.answers.filter(({ status }) => status !== 200);
  }

  /** Answers to requests sent in that time. */
  sentBetween(from: number, to: number): readonly Answered[] {
    return this.answers.filter(({ sentAt }) => sentAt >= from && sentAt < to);
  }

  /** Sends no more, and resolves once all are answered. */
  async stop(): Promise<readonly Answered[]> {
    clearInterval(this.#timer);
    await Promise.all(this.#running);
    return this.answers;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #ask(face: string, body: Readonly<Record<string, unknown>>): Promise<void> {
    this.answers.push(await chat(face, body));
  }
}

/** Value below which that share of the values lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** The line of a measurement in the test's output. */
export function printTimes(what: string, values: readonly number[]): void {
  const ms = (value: number): string => `${value.toFixed(1)} ms`;
  console.log(
    `measured: ${what}: p50 ${ms(percentile(values, 0.5))}, p99 ${ms(percentile(values, 0.99))}, most ${ms(Math.max(...values))}, n=${values.length}`,
  );
}

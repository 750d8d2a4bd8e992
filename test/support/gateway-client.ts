import { collectSse } from "@switchyard/testkit";
import type { CollectedSse } from "@switchyard/testkit";

/** One entry of `x-ants-attempts` (H1). */
export interface AttemptEntry {
  readonly deployment: string;
  readonly outcome: string;
  readonly ms: number;
  readonly status?: number;
  readonly error?: string;
  readonly message?: string;
}

/** The error object of an OpenAI-shaped body. */
export interface OpenAiError {
  readonly message: string;
  readonly type: string;
  readonly code: string | null;
  readonly param: string | null;
}

/** A whole answer. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly bytes: Buffer;
  /** Milliseconds from the request to the end of the answer. */
  readonly ms: number;
  readonly attempts: readonly AttemptEntry[];
  json(): unknown;
  /** `choices[0].message.content` of a completion. */
  readonly content: string;
  /** The error object; fails where there is none. */
  readonly error: OpenAiError;
}

/** A stream read to its end, with its head. */
export interface StreamReply extends CollectedSse {
  readonly status: number;
  readonly headers: Headers;
  readonly attempts: readonly AttemptEntry[];
}

export interface AskOptions {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly key?: string;
}

const SECRET = /UPKEY-[ABC]-/;

/** A caller of one gateway; every answer that it gets is searched for upstream keys. */
export class GatewayClient {
  readonly http: string;
  readonly key: string;
  readonly model: string;

  constructor(http: string, key: string, model: string) {
    this.http = http;
    this.key = key;
    this.model = model;
  }

  get port(): number {
    return Number(new URL(this.http).port);
  }

  /** A small chat request to the group, with these fields over it. */
  body(fields: object = {}): Record<string, unknown> {
    return { model: this.model, messages: [{ role: "user", content: "hi" }], ...fields };
  }

  /** Posts a body, an object of fields over {@link body} or bytes as they are; does not read the answer. */
  send(body: object | string | Uint8Array<ArrayBuffer>, options: AskOptions = {}): Promise<Response> {
    const raw = typeof body === "string" || body instanceof Uint8Array;
    return fetch(`${this.http}${options.path ?? "/v1/chat/completions"}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${options.key ?? this.key}`,
        ...options.headers,
      },
      body: raw ? body : JSON.stringify(this.body(body)),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  }

  /** Asks and reads the whole answer. */
  async ask(body: object | string | Uint8Array<ArrayBuffer> = {}, options: AskOptions = {}): Promise<Reply> {
    const began = performance.now();
    const response = await this.send(body, options);
    return readReply(response, began);
  }

  /** Asks for a stream and reads it to its end or its failure. */
  async stream(body: object = {}, options: AskOptions = {}): Promise<StreamReply> {
    const response = await this.send({ stream: true, ...body }, options);
    const { status, headers } = response;
    const collected = await collectSse(response, { withinMs: 20_000 });
    refuseSecrets(headers, collected.bytes.toString("latin1"));
    return { ...collected, status, headers, attempts: readAttempts(headers) };
  }

  /** Gets a path. */
  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    const began = performance.now();
    const own = { authorization: `Bearer ${this.key}`, ...headers };
    return readReply(await fetch(`${this.http}${path}`, { headers: own }), began);
  }
}

/** Reads an answer whole. */
export async function readReply(response: Response, began: number): Promise<Reply> {
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = bytes.toString("utf8");
  const { status, headers } = response;
  refuseSecrets(headers, text);
  return {
    status,
    headers,
    text,
    bytes,
    ms: performance.now() - began,
    attempts: readAttempts(headers),
    json: () => JSON.parse(text) as unknown,
    get content() {
      const body = JSON.parse(text) as { choices?: { message: { content: string } }[] };
      return body.choices?.[0]?.message.content ?? `no content in: ${text}`;
    },
    get error() {
      const body = JSON.parse(text) as { error?: OpenAiError };
      if (typeof body.error !== "object") throw new Error(`no error object in: ${text}`);
      return body.error;
    },
  };
}

function readAttempts(headers: Headers): readonly AttemptEntry[] {
  const value = headers.get("x-ants-attempts");
  return value === null ? [] : (JSON.parse(value) as AttemptEntry[]);
}

function refuseSecrets(headers: Headers, body: string): void {
  for (const [name, value] of headers) {
    if (SECRET.test(value)) throw new Error(`an upstream key in the response header ${name}`);
  }
  if (SECRET.test(body)) throw new Error("an upstream key in the response body");
}

/** The group that Switchyard routes by, and the model every other variant passes on. */
export const MODEL = "bench-chat";

export type LoadName = "chat-1k" | "stream-100" | "stream-100-paced" | "prompt-200k";

/** One kind of traffic: the request's body and what the upstream answers. */
export interface Load {
  readonly name: LoadName;
  readonly requestBody: Buffer;
  /** One JSON body, or the SSE events of a stream. */
  readonly answer: readonly Buffer[];
  readonly stream: boolean;
  /** Between two chunks of a stream; 0 is as fast as can be. */
  readonly paceMs: number;
  /** How long one measured round lasts. */
  readonly roundMs: number;
  /** Body bytes after which the first token has arrived; 0 without a stream. */
  readonly firstTokenBytes: number;
}

const CHAT_BYTES = 1_024;
const PROMPT_BYTES = 200 * 1_024;
const ANSWER_BYTES = 600;
const CHUNKS = 100;

const WORDS =
  'the invoice of "March" was sent twice, so please compare both and say\nwhich line differs: ünits or prices? ';

function textOfBytes(bytes: number): string {
  const whole = Buffer.from(JSON.stringify(WORDS.repeat(Math.ceil(bytes / WORDS.length)))).subarray(1);
  let end = bytes;
  // Neither an escape nor a letter of several bytes may be cut.
  while (end > 0 && (whole[end - 1] === 0x5c || (whole[end] ?? 0) >= 0x80)) end -= 1;
  return whole.subarray(0, end).toString() + "x".repeat(bytes - end);
}

/** A chat body of exactly `bytes` bytes, as an SDK writes one. */
function chatBody(bytes: number, stream: boolean): Buffer {
  const frame = (content: string): string =>
    `{"model":"${MODEL}","messages":[{"role":"system","content":"You are a helpful clerk."},` +
    `{"role":"user","content":"${content}"}],"temperature":0.2${stream ? ',"stream":true' : ""}}`;
  return Buffer.from(frame(textOfBytes(bytes - Buffer.byteLength(frame("")))));
}

function chatAnswer(): Buffer {
  const frame = (content: string): string =>
    '{"id":"chatcmpl-bench","object":"chat.completion","created":1700000000,"model":"bench-model","choices":' +
    `[{"index":0,"message":{"role":"assistant","content":"${content}"},"finish_reason":"stop"}],` +
    '"usage":{"prompt_tokens":200,"completion_tokens":90,"total_tokens":290}}';
  return Buffer.from(frame("y".repeat(ANSWER_BYTES - frame("").length)));
}

/** 100 chunks: the role, 98 tokens and the finish; then the end mark in the last one's packet. */
function streamEvents(): Buffer[] {
  const event = (delta: string, finish: string): string =>
    'data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench-model",' +
    `"choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]}\n\n`;
  const tokens = Array.from({ length: CHUNKS - 2 }, (_, index) =>
    event(`{"content":"tok${index} "}`, "null"),
  );
  const events = [event('{"role":"assistant","content":""}', "null"), ...tokens];
  events.push(`${event("{}", '"stop"')}data: [DONE]\n\n`);
  return events.map((text) => Buffer.from(text));
}

function plain(name: LoadName, requestBytes: number): Load {
  return {
    name,
    requestBody: chatBody(requestBytes, false),
    answer: [chatAnswer()],
    stream: false,
    paceMs: 0,
    roundMs: 1_000,
    firstTokenBytes: 0,
  };
}

function streamed(name: LoadName, paceMs: number, roundMs: number): Load {
  const answer = streamEvents();
  return {
    name,
    requestBody: chatBody(CHAT_BYTES, true),
    answer,
    stream: true,
    paceMs,
    roundMs,
    firstTokenBytes: (answer[0]?.length ?? 0) + (answer[1]?.length ?? 0),
  };
}

export const LOADS: readonly Load[] = [
  plain("chat-1k", CHAT_BYTES),
  streamed("stream-100", 0, 1_000),
  streamed("stream-100-paced", 5, 2_000),
  plain("prompt-200k", PROMPT_BYTES),
];

export function loadNamed(name: string): Load {
  const load = LOADS.find((one) => one.name === name);
  if (load === undefined) throw new Error(`no load ${name}`);
  return load;
}

/** Decoded bytes of a whole answer. */
export function answerBytes(load: Load): number {
  return load.answer.reduce((sum, part) => sum + part.length, 0);
}

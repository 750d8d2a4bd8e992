/** What the demonstration model has to say, word by word. */
const WORDS =
  "Hello from the demonstration provider. Your request came through Switchyard, which chose a deployment, " +
  "and moved on to the next one if the first could not serve. Look at the x-ants-attempts header to see how.";

export const DEMO_MODEL = "demo-1";
const CREATED = 1_767_225_600;
const DIMENSIONS = 8;

/** Pieces of the answer as a stream sends them: a word each, its space in front. */
export function pieces(limit: number): string[] {
  return WORDS.split(/(?= )/u).slice(0, limit);
}

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

export function usageOf(asked: number, answered: number): Usage {
  return { prompt_tokens: asked, completion_tokens: answered, total_tokens: asked + answered };
}

/** A `chat.completion`. */
export function completion(id: string, model: string, content: string, cut: boolean, usage: Usage): object {
  return {
    id,
    object: "chat.completion",
    created: CREATED,
    model,
    choices: [
      {
        index: 0,
        message: { role: "assistant", content, refusal: null },
        logprobs: null,
        finish_reason: cut ? "length" : "stop",
      },
    ],
    usage,
  };
}

/** A `chat.completion.chunk`; without a delta it is the one that carries only usage. */
export function chunk(
  id: string,
  model: string,
  delta: object | undefined,
  finish: string | null,
  usage: Usage | null | undefined,
): object {
  return {
    id,
    object: "chat.completion.chunk",
    created: CREATED,
    model,
    choices: delta === undefined ? [] : [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...(usage === undefined ? {} : { usage }),
  };
}

/** A list of embeddings, as numbers or as base64 of little-endian 32-bit floats. */
export function embeddingList(model: string, inputs: readonly string[], base64: boolean): object {
  const data = inputs.map((input, index) => {
    const vector = vectorOf(input);
    return { object: "embedding", index, embedding: base64 ? encodeVector(vector) : vector };
  });
  const tokens = inputs.reduce((sum, input) => sum + tokensOf(input), 0);
  return { object: "list", data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } };
}

export function modelList(): object {
  return {
    object: "list",
    data: [{ id: DEMO_MODEL, object: "model", created: CREATED, owned_by: "switchyard" }],
  };
}

export function errorBody(
  message: string,
  type: string,
  code: string | null,
  param: string | null = null,
): object {
  return { error: { message, type, param, code } };
}

/** A rough count, about as a tokenizer would have it. */
export function tokensOf(text: string): number {
  return Math.max(1, Math.ceil(text.length / 4));
}

/** The same text has the same direction; of length 1, as embeddings are. */
function vectorOf(text: string): number[] {
  let state = 2_166_136_261;
  for (let at = 0; at < text.length; at += 1) state = Math.imul(state ^ text.charCodeAt(at), 16_777_619);
  const raw = Array.from({ length: DIMENSIONS }, () => {
    state = Math.imul(state ^ (state >>> 13), 1_540_483_477);
    return (state >>> 0) / 2 ** 31 - 1;
  });
  const length = Math.hypot(...raw) || 1;
  return raw.map((value) => Math.fround(value / length));
}

function encodeVector(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes.toString("base64");
}

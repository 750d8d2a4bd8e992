/**
 * Reads what a recorded answer says that it used, by each API's documentation and by other ways than the translators: what a part of the
 * sum is comes from the provider's own total wherever it states one.
 */
export interface ToldUsage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly cacheWritten: number;
  readonly audioInput: number;
  readonly reasoning: number;
  readonly audioOutput: number;
  readonly chargedUsd: number | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

const NONE = {
  cached: 0,
  cacheWritten: 0,
  audioInput: 0,
  reasoning: 0,
  audioOutput: 0,
  chargedUsd: undefined,
};

/** Undefined where the answer tells nothing. */
export function toldUsage(endpoint: string, body: Uint8Array): ToldUsage | undefined {
  const told = usagesIn(Buffer.from(body).toString("latin1"));
  const last = told.at(-1);
  if (last === undefined) return undefined;
  switch (endpoint) {
    case "messages":
      // A stream's last event repeats only what has changed.
      return ofAnthropic(Object.assign({}, ...told) as Fields);
    case "converse":
    case "converse-stream":
      return ofConverse(last);
    case "generateContent":
    case "streamGenerateContent":
      return ofGoogle(last);
    default:
      return ofOpenAi(last);
  }
}

/** Every object that is a `usage` or `usageMetadata` and counts tokens, in the order of the text, whatever is around it. */
function usagesIn(text: string): Fields[] {
  const found: Fields[] = [];
  for (const { index, 0: head } of text.matchAll(/"usage(?:Metadata)?"\s*:\s*(?=\{)/gu)) {
    const value = objectAt(text, index + head.length);
    if (value !== undefined && Object.keys(value).some((key) => /tokens?(?:Count)?$/iu.test(key)))
      found.push(value);
  }
  return found;
}

/** The JSON object that begins here: texts in a usage hold no braces. */
function objectAt(text: string, start: number): Fields | undefined {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    if (text[at] === "{") depth += 1;
    if (text[at] === "}") depth -= 1;
    if (depth === 0) return JSON.parse(text.slice(start, at + 1)) as Fields;
  }
  return undefined;
}

function ofOpenAi(usage: Fields): ToldUsage {
  const whole = (names: string): number => tokens(usage, names);
  const input = whole("prompt_tokens|input_tokens");
  const output = whole("total_tokens") - input;
  const inputDetail = (name: string): number =>
    tokens(usage, "prompt_tokens_details|input_tokens_details", name);
  const outputDetail = (name: string): number =>
    tokens(usage, "completion_tokens_details|output_tokens_details", name);
  const reasoning = outputDetail("reasoning_tokens");
  const ticks = whole("cost_in_usd_ticks");
  const cost = usage["cost"] as number | undefined;
  return {
    input,
    output,
    cached: Math.min(input, inputDetail("cached_tokens") || whole("prompt_cache_hit_tokens|cached_tokens")),
    cacheWritten: inputDetail("cache_write_tokens"),
    audioInput: inputDetail("audio_tokens"),
    // What is in the total and not in the answer was thought.
    reasoning: Math.min(output, reasoning || output - whole("completion_tokens|output_tokens")),
    audioOutput: outputDetail("audio_tokens"),
    chargedUsd: cost ?? (ticks > 0 ? ticks / 1e10 : undefined),
  };
}

function ofAnthropic(usage: Fields): ToldUsage {
  const steps = (usage["iterations"] ?? []) as readonly Fields[];
  const billed = [usage, ...steps.filter((step) => step["type"] === "compaction")];
  const sum = (name: string): number => billed.reduce((before, step) => before + tokens(step, name), 0);
  const cached = sum("cache_read_input_tokens");
  const cacheWritten = sum("cache_creation_input_tokens");
  return {
    ...NONE,
    input: sum("input_tokens") + cached + cacheWritten,
    output: sum("output_tokens"),
    cached,
    cacheWritten,
    reasoning: tokens(usage, "output_tokens_details", "thinking_tokens"),
  };
}

function ofConverse(usage: Fields): ToldUsage {
  const output = tokens(usage, "outputTokens");
  const cached = tokens(usage, "cacheReadInputTokens");
  const cacheWritten = tokens(usage, "cacheWriteInputTokens");
  return { ...NONE, input: tokens(usage, "totalTokens") - output, output, cached, cacheWritten };
}

function ofGoogle(usage: Fields): ToldUsage {
  const input = tokens(usage, "promptTokenCount") + tokens(usage, "toolUsePromptTokenCount");
  return {
    ...NONE,
    input,
    output: tokens(usage, "totalTokenCount") - input,
    cached: tokens(usage, "cachedContentTokenCount"),
    reasoning: tokens(usage, "thoughtsTokenCount"),
  };
}

/** The number at a path of names, each of them one of some that are told apart by `|`; 0 where there is none. */
function tokens(value: unknown, ...path: readonly string[]): number {
  let here = value;
  for (const names of path) {
    const fields = (here ?? {}) as Fields;
    here = names.split("|").reduce<unknown>((found, name) => found ?? fields[name], undefined);
  }
  return typeof here === "number" ? here : 0;
}

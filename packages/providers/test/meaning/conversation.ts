import * as fc from "fast-check";

/** One piece of a turn. Files are base64. */
export type Part =
  | {
      readonly kind: "text";
      readonly text: string;
      /** Anthropic's cache ends after it (BH-25). */
      readonly cached?: boolean | undefined;
    }
  | { readonly kind: "image" | "document"; readonly media: string; readonly data: string }
  | { readonly kind: "image" | "document"; readonly url: string }
  | { readonly kind: "thinking"; readonly text: string; readonly signature: string }
  | { readonly kind: "redacted"; readonly data: string }
  | { readonly kind: "call"; readonly id: string; readonly name: string; readonly input: unknown }
  | { readonly kind: "result"; readonly id: string; readonly text: string; readonly failed: boolean };

export interface Turn {
  readonly role: "user" | "assistant" | "system";
  readonly parts: readonly Part[];
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly schema: unknown;
}

/** What a request asks, in nobody's words. */
export interface Asked {
  /** Instructions, wherever they stood, in their order. */
  readonly system: readonly string[];
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly choice: "auto" | "required" | "none" | { readonly name: string } | undefined;
  readonly parallel: boolean | undefined;
  readonly maxTokens: number | undefined;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly topK: number | undefined;
  readonly stop: readonly string[];
  /** Schema of the answer. */
  readonly schema: unknown;
}

/** Turns of one role in a row are one; so are texts of an assistant. */
export function settled(turns: readonly Turn[]): Turn[] {
  const whole: { role: Turn["role"]; parts: Part[] }[] = [];
  for (const { role, parts } of turns) {
    const last = whole.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else whole.push({ role, parts: [...parts] });
  }
  return whole.filter(({ parts }) => parts.length > 0);
}

const said = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 12 })
  .filter((text) => text.trim() !== "");
const word = fc.stringMatching(/^[a-z][a-z0-9_]{0,7}$/u);
const base64 = fc.constantFrom("AAAA", "iVBORw0KGgo=", "JVBERi0=");

const image: fc.Arbitrary<Part> = fc.record({
  kind: fc.constant("image" as const),
  media: fc.constantFrom("image/png", "image/jpeg", "image/webp"),
  data: base64,
});
const linked: fc.Arbitrary<Part> = fc.record({
  kind: fc.constant("image" as const),
  url: fc.constantFrom("https://h/a.png", "https://h/b.png?c=d"),
});
const document: fc.Arbitrary<Part> = fc.record({
  kind: fc.constant("document" as const),
  media: fc.constant("application/pdf"),
  data: base64,
});
const thinking: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ kind: fc.constant("thinking" as const), text: said, signature: base64 }),
  fc.record({ kind: fc.constant("redacted" as const), data: base64 }),
);

const schema = fc
  .dictionary(
    word,
    fc.constantFrom(
      { type: "string" },
      { type: "integer", description: "how many" },
      { enum: ["a", "b"], type: "string" },
      { type: "array", items: { type: "number" } },
    ),
    { maxKeys: 3, noNullPrototype: true },
  )
  .map((properties) => ({
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  }));
const tool: fc.Arbitrary<Tool> = fc.record({ name: word, description: said, schema });
const input = fc.dictionary(
  word,
  fc.oneof(
    said,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(fc.integer(), { maxLength: 2 }),
    fc.dictionary(word, said, { maxKeys: 2, noNullPrototype: true }),
  ),
  {
    maxKeys: 3,
    noNullPrototype: true,
  },
);

const ids: fc.Arbitrary<(place: number) => string> = fc.constantFrom(
  (place) => `functions.f:${place}`,
  (place) => `call_${"x".repeat(80)}${place}`,
  (place) => `${place}|ä`,
  (place) => `toolu_${place}`,
);

/** What the generated conversations hold. */
export interface Wishes {
  /** Images by URL. */
  readonly links: boolean;
  /** Results that say that the tool failed. */
  readonly failures: boolean;
  readonly topK: boolean;
  readonly stop: boolean;
  /** Ids of calls as other vendors write them: with other characters, or long. */
  readonly oddIds: boolean;
  /** Places where a cache is to end. */
  readonly caches: boolean;
  /** Refusing several calls at once. */
  readonly parallel: boolean;
  /** Instructions between turns. */
  readonly late: boolean;
}

/** Conversations that begin and end with the user, each call answered in the turn after it. */
export function conversations(wishes: Wishes): fc.Arbitrary<Asked> {
  const text: fc.Arbitrary<Part> = fc
    .record({ text: said, cached: wishes.caches ? fc.boolean() : fc.constant(false) })
    .map(({ text: words, cached }) => ({ kind: "text", text: words, ...(cached ? { cached } : {}) }));
  const shown = fc.array(fc.oneof(text, image, document, ...(wishes.links ? [linked] : [])), {
    maxLength: 2,
  });
  const request = fc.uniqueArray(tool, { selector: ({ name }) => name, maxLength: 3 }).chain((tools) => {
    const call = fc.record({
      name: fc.constantFrom(...tools.map(({ name }) => name), ""),
      input,
      result: said,
      fails: fc.boolean(),
    });
    const round = fc.record({
      asks: shown,
      last: said,
      thought: fc.option(thinking, { nil: undefined }),
      answer: fc.option(said, { nil: undefined }),
      calls: fc.array(call, { maxLength: tools.length === 0 ? 0 : 3 }),
      late: wishes.late ? fc.option(said, { nil: undefined }) : fc.constant(undefined),
    });
    const choice = fc.constantFrom(
      "auto" as const,
      "required" as const,
      "none" as const,
      { name: tools[0]?.name ?? "" },
      undefined,
    );
    return fc.record({
      system: fc.array(said, { maxLength: 2 }),
      rounds: fc.array(round, { maxLength: 3 }),
      final: said,
      idOf: wishes.oddIds ? ids : fc.constant((place: number) => `call_${place}`),
      tools: fc.constant(tools),
      choice: tools.length === 0 ? fc.constant(undefined) : choice,
      parallel:
        tools.length === 0 || !wishes.parallel
          ? fc.constant(undefined)
          : fc.constantFrom(true, false, undefined),
      maxTokens: fc.integer({ min: 1, max: 4096 }),
      temperature: fc.option(fc.constantFrom(0, 0.25, 1), { nil: undefined }),
      topP: fc.option(fc.constantFrom(0.5, 1), { nil: undefined }),
      topK: wishes.topK
        ? fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined })
        : fc.constant(undefined),
      stop: fc.uniqueArray(said, { maxLength: wishes.stop ? 4 : 0 }),
      schema: fc.option(schema, { nil: undefined }),
    });
  });
  return request.map(({ rounds, final, system, idOf, ...rest }) => {
    let count = 0;
    const turns: Turn[] = [];
    const late: string[] = [];
    for (const { asks, last, thought, answer, calls, late: instruction } of rounds) {
      turns.push({ role: "user", parts: [...asks, { kind: "text", text: last }] });
      if (instruction !== undefined) {
        turns.push({ role: "system", parts: [{ kind: "text", text: instruction }] });
        late.push(instruction);
      }
      const made = calls.filter(({ name }) => name !== "").map((call) => ({ ...call, id: idOf(count++) }));
      const words = answer ?? (made.length === 0 ? "ok" : undefined);
      turns.push({
        role: "assistant",
        parts: [
          ...(thought === undefined ? [] : [thought]),
          ...(words === undefined ? [] : [{ kind: "text" as const, text: words }]),
          ...made.map(({ id, name, input: args }) => ({ kind: "call" as const, id, name, input: args })),
        ],
      });
      turns.push({
        role: "user",
        parts: made.map(({ id, result, fails }) => ({
          kind: "result" as const,
          id,
          text: result,
          failed: wishes.failures && fails,
        })),
      });
    }
    turns.push({ role: "user", parts: [{ kind: "text", text: final }] });
    return { ...rest, system: [...system, ...late], turns };
  });
}

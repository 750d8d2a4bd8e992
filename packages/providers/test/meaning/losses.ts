import type { Finish, Piece, Said } from "./meaning.ts";
import { fields, list } from "./values.ts";

/** The dialects that callers speak. */
export type CallerDialect = "chat" | "messages" | "responses";

/** What a caller's dialect can't say, and what it says in its place. */
export interface Loss {
  readonly what: string;
  readonly why: string;
  readonly tell: (said: Said) => Said;
}

const finishing =
  (words: Readonly<Partial<Record<Finish, Finish>>>) =>
  (said: Said): Said => ({ ...said, finish: words[said.finish] ?? said.finish });

const explained = {
  what: "that a filter explains itself",
  why: "its words are told as a refusal's",
  tell: ({ explanation, ...said }: Said): Said =>
    explanation === undefined
      ? said
      : { ...said, pieces: joined([...said.pieces, { kind: "refusal", text: explanation }]) },
};

const CHAT: readonly Loss[] = [
  explained,
  {
    what: "the order of text, thinking, refusal and calls",
    why: "a message has one field for each",
    tell: (said) => ({ ...said, pieces: grouped(said.pieces) }),
  },
  {
    what: "a pause",
    why: "`finish_reason` has no word for it; `native_finish_reason` tells",
    tell: finishing({ pause: "stop" }),
  },
  {
    what: "whether a model or a filter refused",
    why: "a refusal that is no end of the model's own is `content_filter`",
    tell: finishing({ refusal: "filtered" }),
  },
];

const MESSAGES: readonly Loss[] = [
  {
    what: "that words are a refusal",
    why: "there is no such block; `stop_reason` tells",
    tell: (said) => ({ ...said, pieces: joined(said.pieces.map(asText)) }),
  },
  {
    what: "whether a model or a filter refused",
    why: "`refusal` is the word for both",
    tell: finishing({ refusal: "filtered" }),
  },
  {
    what: "Bedrock's words for the places of citations",
    why: "they are Anthropic's places, told in its words",
    tell: (said) => ({ ...said, extras: said.extras.map(inAnthropicsWords) }),
  },
  {
    what: "that a call is signed",
    why: "thinking before the call holds what signs it",
    tell: (said) => ({ ...said, pieces: said.pieces.flatMap(signedBefore) }),
  },
];

const RESPONSES: readonly Loss[] = [
  explained,
  {
    what: "a stop sequence, a pause, the model's own refusal",
    why: "a response that is not cut short is `completed`",
    tell: (said) =>
      finishing({ stop_sequence: "stop", pause: "stop", refusal: "stop" })({
        ...said,
        stopSequence: undefined,
      }),
  },
];

/** By the caller's dialect. A difference that no row tells is a translator's fault. */
export const LOSSES: Readonly<Record<CallerDialect, readonly Loss[]>> = {
  chat: CHAT,
  messages: MESSAGES,
  responses: RESPONSES,
};

const ORDER: readonly Piece["kind"][] = ["thinking", "signature", "redacted", "text", "refusal", "call"];

function grouped(pieces: readonly Piece[]): Piece[] {
  return joined(ORDER.flatMap((kind) => pieces.filter((piece) => piece.kind === kind)));
}

function joined(pieces: readonly Piece[]): Piece[] {
  const whole: Piece[] = [];
  for (const piece of pieces) {
    const last = whole.at(-1);
    if ("text" in piece && last !== undefined && "text" in last && last.kind === piece.kind)
      whole[whole.length - 1] = { kind: piece.kind, text: last.text + piece.text };
    else whole.push(piece);
  }
  return whole;
}

function asText(piece: Piece): Piece {
  return piece.kind === "refusal" ? { kind: "text", text: piece.text } : piece;
}

function signedBefore(piece: Piece): Piece[] {
  if (piece.kind !== "call" || piece.signature === undefined) return [piece];
  return [
    { kind: "signature", data: piece.signature },
    { ...piece, signature: undefined },
  ];
}

/** Bedrock's kinds of places in documents: Anthropic's kind, and its words for where it starts and ends. */
const PLACES: Readonly<Record<string, readonly [string, string]>> = {
  documentChar: ["char_location", "char_index"],
  documentPage: ["page_location", "page_number"],
  documentChunk: ["content_block_location", "block_index"],
};

function inAnthropicsWords(extra: unknown): unknown {
  const { location, sourceContent, title } = fields(extra);
  const [kind, value] = Object.entries(fields(location))[0] ?? [];
  const [type, unit] = PLACES[kind ?? ""] ?? [];
  if (type === undefined) return extra;
  const { documentIndex, start, end } = fields(value);
  return {
    type,
    cited_text: list(sourceContent)
      .map((part) => fields(part)["text"])
      .join(""),
    document_index: documentIndex,
    document_title: title ?? null,
    file_id: null,
    [`start_${unit}`]: start,
    [`end_${unit}`]: end,
  };
}

import { describe, expect, it } from "vitest";
import { readChat, readChatStream } from "./chat-reader.ts";
import type { Finish, Meaning, Piece } from "./meaning.ts";
import { readMessage, readMessageStream } from "./messages-reader.ts";
import { type Pair, pairs } from "./recorded.ts";
import { readResponse, readResponseStream } from "./responses-reader.ts";
import { completionOf, type Heard, heard, heardWhole, messageOf, responseOf } from "./sdk-readers.ts";

const ANSWERS = pairs().pairs.filter(({ status }) => status === 200);
const whole = (dialect: string): Pair[] =>
  ANSWERS.filter((pair) => pair.dialect === dialect && pair.verdict === "complete");
const plainOf = (dialect: string): Pair[] =>
  ANSWERS.filter((pair) => pair.dialect === dialect && !pair.stream);

describe("the vendors' clients read golden bodies", () => {
  it.each(whole("chat"))("$name: OpenAI's makes one completion", async ({ golden }) => {
    expect(plain(readChat(await completionOf(golden)))).toEqual(plain(readChatStream(golden)));
  });

  it.each(whole("messages"))("$name: Anthropic's makes one message", async ({ golden }) => {
    const rebuilt = readMessage(await messageOf(golden));
    const read = readMessageStream(golden);
    expect({ ...rebuilt, said: rebuilt.said.map(withoutExtras) }).toEqual({
      ...read,
      said: read.said.map(withoutExtras),
    });
  });

  it.each(whole("responses"))("$name: OpenAI's makes one response", async ({ golden }) => {
    expect(readResponse(await responseOf(golden))).toEqual(readResponseStream(golden));
  });

  it.each(whole("chat"))("$name: Vercel's hears the chunks", async ({ golden }) => {
    expect(await heard("chat", golden)).toEqual(audible(readChatStream(golden)));
  });

  it.each(whole("messages"))("$name: Vercel's hears the events", async ({ golden }) => {
    expect(await heard("messages", golden)).toEqual(audible(readMessageStream(golden)));
  });

  it.each(plainOf("chat"))("$name: Vercel's reads the completion", async ({ golden }) => {
    expect(await heardWhole("chat", golden)).toEqual(audible(readChat(golden)));
  });

  it.each(plainOf("messages"))("$name: Vercel's reads the message", async ({ golden }) => {
    expect(await heardWhole("messages", golden)).toEqual(audible(readMessage(golden)));
  });
});

/** What OpenAI's client keeps of a choice: of fields that it does not know, the last piece alone. */
function plain({ model, usage, said }: Meaning): unknown {
  return {
    model,
    usage,
    said: said.map(({ pieces, finish }) => ({
      pieces: pieces
        .filter(({ kind }) => kind === "text" || kind === "refusal" || kind === "call")
        .map(unsigned),
      finish,
    })),
  };
}

function unsigned(piece: Piece): Piece {
  return piece.kind === "call" ? { ...piece, signature: undefined } : piece;
}

function withoutExtras<T extends { readonly extras: unknown }>({
  extras: _extras,
  ...rest
}: T): Omit<T, "extras"> {
  return rest;
}

/** Of usage, what it has words for. */
const counted = ({ usage }: Meaning): Omit<Heard, "pieces" | "finish"> => ({
  input: usage?.input,
  cached: usage?.cached,
  output: usage?.output,
});

const HEARD: Readonly<Record<Finish, string>> = {
  stop: "stop",
  stop_sequence: "stop",
  pause: "stop",
  length: "length",
  tool_calls: "tool-calls",
  refusal: "content-filter",
  filtered: "content-filter",
  cut: "error",
};

/** What Vercel's client has words for: a refusal of chat is text to it. */
function audible(meaning: Meaning): Heard {
  const [first] = meaning.said;
  const pieces = (first?.pieces ?? []).filter(({ kind }) => kind !== "signature" && kind !== "redacted");
  const asText = (piece: Piece): Piece =>
    piece.kind === "refusal" ? { ...piece, kind: "text" } : unsigned(piece);
  return { pieces: pieces.map(asText), finish: HEARD[first?.finish ?? "cut"], ...counted(meaning) };
}

import { describe, expect, it } from "vitest";
import { readChat, readChatStream } from "./chat-reader.ts";
import { grammarFaults } from "./grammar.ts";
import type { Finish, Meaning, Piece } from "./meaning.ts";
import { readMessage, readMessageStream } from "./messages-reader.ts";
import { type Pair, pairs } from "./recorded.ts";
import { addUp, readResponse, readResponseStream } from "./responses-reader.ts";
import { completionOf, heard, messageOf, responseOf } from "./sdk-readers.ts";
import { fields, list, parse, sseEvents } from "./values.ts";

const STREAMS = pairs().pairs.filter(({ stream }) => stream);
const whole = (dialect: string): Pair[] =>
  STREAMS.filter((pair) => pair.dialect === dialect && pair.verdict === "complete");

describe("golden streams follow their dialect", () => {
  it.each(STREAMS)("P4: $name in $dialect", ({ dialect, golden, verdict }) => {
    expect(grammarFaults(dialect, golden, verdict !== "complete")).toEqual([]);
  });

  it.each(whole("responses"))("BH-32: $name, the final object is what the deltas add up to", ({ golden }) => {
    const events = sseEvents(golden).map(({ data }) => fields(parse(data)));
    const output = list(fields(events.at(-1)?.["response"])["output"]);
    const said = (items: readonly unknown[]): Piece[] =>
      readResponse(JSON.stringify({ status: "completed", output: items })).said[0]?.pieces.slice() ?? [];
    expect(said(addUp(events))).toEqual(said(output));
  });
});

describe("the vendors' clients read golden streams", () => {
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
function audible({ said: [first] }: Meaning): unknown {
  const pieces = (first?.pieces ?? []).filter(({ kind }) => kind !== "signature" && kind !== "redacted");
  const asText = (piece: Piece): Piece =>
    piece.kind === "refusal" ? { ...piece, kind: "text" } : unsigned(piece);
  return { pieces: pieces.map(asText), finish: HEARD[first?.finish ?? "cut"] };
}

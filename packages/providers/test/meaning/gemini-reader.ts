import { type Finish, Gathering, type Meaning, type Said, type Usage } from "./meaning.ts";
import { count, type Fields, fields, list, parse, parseOrText, sseEvents, text } from "./values.ts";

const FINISH: Readonly<Record<string, Finish>> = { STOP: "stop", MAX_TOKENS: "length" };
const BLOCKED = /^(?:SAFETY|RECITATION|BLOCKLIST|PROHIBITED_CONTENT|SPII|LANGUAGE|IMAGE_\w+)$/u;

/** What a candidate tells about its sources. */
const SOURCES = ["groundingMetadata", "citationMetadata", "urlContextMetadata"];

interface OpenCall {
  readonly name: string;
  readonly signature: string | undefined;
  input: unknown;
}

interface Candidate {
  readonly gathering: Gathering;
  /** Arguments that are still coming. */
  open: OpenCall | undefined;
  reason: string | undefined;
  message: string | undefined;
}

/** Reads an answer of `generateContent`. */
export function readGemini(body: string): Meaning {
  return read([fields(parse(body))]);
}

/** Reads a stream of `streamGenerateContent?alt=sse`. An error in the middle stands there without `data:`. */
export function readGeminiStream(body: string): Meaning {
  return read(
    sseEvents(body).map(({ data }) => fields(parseOrText(data))),
    /^\{\s*"error"/mu.test(body),
  );
}

function read(chunks: readonly Fields[], failed = false): Meaning {
  const candidates: Candidate[] = [];
  const at = (index: number): Candidate =>
    (candidates[index] ??= {
      gathering: new Gathering(),
      open: undefined,
      reason: undefined,
      message: undefined,
    });
  let model: string | undefined;
  let usage: Usage | undefined;
  for (const chunk of chunks) {
    model ??= text(chunk["modelVersion"]) || undefined;
    usage = readUsage(chunk["usageMetadata"]) ?? usage;
    const blocked = fields(chunk["promptFeedback"]);
    if (text(blocked["blockReason"]) !== "") {
      at(0).reason = "SAFETY";
      at(0).message = text(blocked["blockReasonMessage"]) || undefined;
    }
    for (const value of list(chunk["candidates"])) {
      const candidate = fields(value);
      const mine = at(count(candidate["index"]));
      for (const part of list(fields(candidate["content"])["parts"])) takePart(mine, fields(part));
      mine.reason = text(candidate["finishReason"]) || mine.reason;
      mine.message = text(candidate["finishMessage"]) || mine.message;
      for (const key of SOURCES) mine.gathering.extra(candidate[key]);
    }
  }
  return { model, said: candidates.map((candidate) => said(candidate, failed)), usage };
}

function said({ gathering, reason, message }: Candidate, failed: boolean): Said {
  const { pieces, extras } = gathering;
  const finish = BLOCKED.test(reason ?? "") ? "filtered" : (FINISH[reason ?? ""] ?? "cut");
  const meant = finish === "stop" && gathering.calls > 0 ? "tool_calls" : finish;
  const explanation = finish === "filtered" ? message : undefined;
  return { pieces, extras, finish: failed ? "cut" : meant, explanation };
}

function takePart(mine: Candidate, part: Fields): void {
  const { gathering } = mine;
  const signature = text(part["thoughtSignature"]) || undefined;
  if ("functionCall" in part) takeCall(mine, fields(part["functionCall"]), signature);
  else if (part["thought"] === true) {
    gathering.say("thinking", part["text"]);
    gathering.seal("signature", signature);
  } else {
    // What signs a text signs the thinking that led to it.
    gathering.seal("signature", signature);
    const { thoughtSignature: _signature, ...rest } = part;
    if ("text" in part) gathering.say("text", part["text"]);
    else gathering.extra(rest);
  }
}

/** Arguments come whole, or as pieces by JSON path until a call says no more `willContinue`. */
function takeCall(mine: Candidate, call: Fields, signature: string | undefined): void {
  const id = text(call["id"]) || undefined;
  const goesOn = call["willContinue"] === true;
  mine.open ??= { name: text(call["name"]), signature, input: call["args"] ?? {} };
  for (const value of list(call["partialArgs"])) {
    const piece = fields(value);
    const path = [...text(piece["jsonPath"]).matchAll(/\.(\w+)|\[(\d+)\]|\['([^']*)'\]/gu)];
    const steps = path.map(([, name, index, quoted]) =>
      index === undefined ? (name ?? quoted ?? "") : Number(index),
    );
    mine.open.input = put(mine.open.input, steps, piece);
  }
  if (goesOn) return;
  const { name, input, signature: signed } = mine.open;
  mine.gathering.call({ id, name, input, signature: signed });
  mine.open = undefined;
}

function put(whole: unknown, [step, ...steps]: readonly (string | number)[], piece: Fields): unknown {
  if (step === undefined) {
    if ("stringValue" in piece) return text(whole) + text(piece["stringValue"]);
    return piece["numberValue"] ?? piece["boolValue"] ?? null;
  }
  if (typeof step === "number") {
    const items = [...list(whole)];
    items[step] = put(items[step], steps, piece);
    return items;
  }
  return { ...fields(whole), [step]: put(fields(whole)[step], steps, piece) };
}

/** Thoughts count beside the candidates, what Google's tools read beside the prompt. */
function readUsage(value: unknown): Usage | undefined {
  const usage = fields(value);
  if (!("promptTokenCount" in usage)) return undefined;
  const reasoning = count(usage["thoughtsTokenCount"]);
  return {
    input: count(usage["promptTokenCount"]) + count(usage["toolUsePromptTokenCount"]),
    output: count(usage["candidatesTokenCount"]) + reasoning,
    cached: count(usage["cachedContentTokenCount"]),
    cacheWritten: 0,
    reasoning,
  };
}

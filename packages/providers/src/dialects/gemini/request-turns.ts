import type { Json, JsonObject } from "../../json/lossless.ts";
import type {
  Block,
  DocumentBlock,
  ImageBlock,
  Source,
  TextBlock,
  ToolResultBlock,
  Turn,
} from "../../neutral/request.ts";
import { invalidField, notTranslatable } from "../../translate/fault.ts";
import { NO_SIGNATURE, wantsSignatures } from "../../origin/no-signature.ts";

const GOOGLE = "google-gemini-v1";

interface Content {
  readonly role: "user" | "model";
  readonly parts: JsonObject[];
}

/** A call that waits for its result. */
interface Called {
  readonly name: string;
  readonly place: number;
}

/**
 * Writes turns as `contents`. Turns of one role in a row become one, so that all results stand together after their calls, in the calls'
 * order: this API knows them by name and place, not by id (BH-21).
 */
export function writeContents(turns: readonly Turn[], model: string): Json[] {
  const contents: Content[] = [];
  const called = new Map<string, Called>();
  for (const [role, blocks] of joined(turns)) {
    const parts =
      role === "model" ? writeModel(blocks, called, wantsSignatures(model)) : writeUser(blocks, called);
    const last = contents.at(-1);
    // A turn of which nothing is left lets those around it meet.
    if (last?.role === role) last.parts.push(...parts);
    else if (parts.length > 0) contents.push({ role, parts });
  }
  return contents as unknown as Json[];
}

function joined(turns: readonly Turn[]): [Content["role"], readonly Block[]][] {
  const runs: [Content["role"], readonly Block[]][] = [];
  for (const { role, blocks } of turns) {
    if (role === "system") continue;
    const name = role === "assistant" ? "model" : "user";
    const last = runs.at(-1);
    if (last?.[0] === name) last[1] = [...last[1], ...blocks];
    else runs.push([name, blocks]);
  }
  return runs;
}

/** A signature that came as thinking goes to the part after it, which it came with. */
function writeModel(blocks: readonly Block[], called: Map<string, Called>, isSigned: boolean): JsonObject[] {
  const parts: { [key: string]: Json | undefined }[] = [];
  let pending: string | undefined;
  const signed = (own?: string): string | undefined => {
    const signature = own ?? pending;
    if (signature === pending) pending = undefined;
    return signature;
  };
  let place = 0;
  for (const block of blocks) {
    switch (block.kind) {
      case "thinking":
        // Its text is not given back: the signature stands for it. Another vendor's says nothing here.
        if (block.format === GOOGLE && block.signature !== undefined) pending = block.signature;
        break;
      case "redacted":
        if (block.format === GOOGLE) pending = block.data;
        break;
      case "text":
        if (block.text !== "") parts.push({ text: block.text, thoughtSignature: signed() });
        break;
      case "image":
        parts.push({ ...writeImage(block), thoughtSignature: signed() });
        break;
      case "tool_call":
        called.set(block.id, { name: block.name, place: place++ });
        parts.push({
          functionCall: { name: block.name, args: block.input },
          thoughtSignature: signed(block.signature),
        });
        break;
      default:
        throw refusal(block);
    }
  }
  if (pending !== undefined) parts.push({ text: "", thoughtSignature: pending });
  const calls = parts.filter(({ functionCall }) => functionCall !== undefined);
  const [first] = calls;
  // Of parallel calls only the first has one, and no other may get it.
  const lacks = calls.every(({ thoughtSignature }) => thoughtSignature === undefined);
  if (isSigned && first !== undefined && lacks) first["thoughtSignature"] = NO_SIGNATURE;
  return parts;
}

/** Results first and in a row, then what they can't hold, then what the user says. */
function writeUser(blocks: readonly Block[], called: ReadonlyMap<string, Called>): JsonObject[] {
  const results = blocks
    .filter((block) => block.kind === "tool_result")
    .map((result) => ({ result, call: callOf(result, called) }))
    .toSorted((left, right) => left.call.place - right.call.place);
  const shown = results.flatMap(({ result, call }) =>
    result.content
      .filter((block) => block.kind !== "text")
      .flatMap((block) => [{ text: `From the result of ${call.name}:` }, writePart(block)]),
  );
  const said = blocks.filter((block) => block.kind !== "tool_result" && !isEmpty(block));
  return [
    ...results.map(({ result, call }) => writeResult(result, call.name)),
    ...shown,
    ...said.map(writePart),
  ];
}

function callOf(result: ToolResultBlock, called: ReadonlyMap<string, Called>): Called {
  const call = called.get(result.id);
  if (call === undefined) throw invalidField(result.path, "answers no tool call before it");
  return call;
}

/** `output` and `error` are the names that Google gives to what a function gave back. */
function writeResult(result: ToolResultBlock, name: string): JsonObject {
  const text = result.content
    .map((block) => (block.kind === "text" ? block.text : `[${block.kind}: see below]`))
    .join("\n");
  return { functionResponse: { name, response: { [result.isError ? "error" : "output"]: text } } };
}

function isEmpty(block: Block): boolean {
  return block.kind === "text" && block.text === "";
}

/** One piece of what a user says. */
function writePart(block: Block): JsonObject {
  switch (block.kind) {
    case "text":
      return { text: block.text };
    case "image":
      return writeImage(block);
    case "document":
      return writeDocument(block);
    case "audio":
      return { inlineData: { mimeType: `audio/${block.format}`, data: block.data } };
    default:
      throw refusal(block);
  }
}

/** Instructions, wherever they stand: this API has one place for them. */
export function writeSystem(blocks: readonly TextBlock[]): JsonObject | undefined {
  const parts = blocks.filter(({ text }) => text !== "").map(({ text }) => ({ text }));
  return parts.length > 0 ? { parts } : undefined;
}

function writeImage({ source, path }: ImageBlock): JsonObject {
  if (source.kind === "text") throw invalidField(`${path}.source`, "must be an image");
  return writeBytes(source, "image/jpeg");
}

function writeDocument({ source, title, cited, path }: DocumentBlock): JsonObject {
  if (cited) throw notTranslatable(`${path}.citations`, "it has no counterpart there");
  if (source.kind === "text")
    return { text: title === undefined ? source.text : `${title}\n\n${source.text}` };
  return writeBytes(source, "application/pdf");
}

function writeBytes(source: Exclude<Source, { kind: "text" }>, likely: string): JsonObject {
  if (source.kind === "base64") return { inlineData: { mimeType: source.mediaType, data: source.data } };
  return { fileData: { mimeType: typeOfUrl(source.url) ?? likely, fileUri: source.url } };
}

const TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  heic: "image/heic",
  heif: "image/heif",
  pdf: "application/pdf",
  txt: "text/plain",
  md: "text/markdown",
  html: "text/html",
  csv: "text/csv",
};

/** The API wants to be told; a URL's ending is all that is known before it is fetched. */
function typeOfUrl(url: string): string | undefined {
  const [, ending = ""] = /\.([a-z0-9]{2,4})(?:[?#]|$)/iu.exec(url.slice(0, 4096)) ?? [];
  const name = ending.toLowerCase();
  return Object.hasOwn(TYPES, name) ? TYPES[name] : undefined;
}

function refusal(block: Block): Error {
  const what = block.kind === "other" ? block.type : block.kind;
  return notTranslatable(block.path, `a '${what}' block has no counterpart there`);
}

import { isJsonList, isJsonObject, type Json, type JsonObject, parseJsonText } from "../../json/lossless.ts";
import type { Block, Source, ToolResultBlock, Turn } from "../../neutral/request.ts";
import { sourceOfUrl } from "../../translate/data-url.ts";
import { invalidField, NO_COUNTERPART, notTranslatable } from "../../translate/fault.ts";
import { type Fields, fieldsAt } from "../../translate/fields.ts";
import { onlyText } from "../openai/request-fields.ts";
import { readGoogle } from "../openai/google-signature.ts";
import { flatName } from "./namespaces.ts";
import { openSeal } from "../../origin/thinking-seal.ts";

const KEPT_ELSEWHERE = "the file is kept by another provider";

/** The turns of `input`: a text, or a list of items. Neighbours that make one turn are joined: a call stands with what was said before it. */
export function readInput(fields: Fields): Turn[] {
  const input = fields.take("input");
  const path = fields.at("input");
  if (input === undefined) return [];
  if (typeof input === "string")
    return [{ role: "user", path, blocks: [{ kind: "text", text: input, path }] }];
  if (!isJsonList(input)) throw invalidField(path, "must be a string or an array of items");
  const turns: Turn[] = [];
  for (const [place, item] of input.entries()) {
    const turn = readItem(fieldsAt(item, `${path}.${place}`));
    const last = turns.at(-1);
    if (last !== undefined && joins(last, turn)) {
      turns[turns.length - 1] = { ...last, blocks: [...last.blocks, ...turn.blocks] };
    } else if (turn.blocks.length > 0) turns.push(turn);
  }
  return turns;
}

/** Answers and calls of one turn, or results of one round. */
function joins(last: Turn, turn: Turn): boolean {
  if (last.role !== turn.role) return false;
  return (
    turn.role === "assistant" || [...last.blocks, ...turn.blocks].every(({ kind }) => kind === "tool_result")
  );
}

function readItem(item: Fields): Turn {
  const type = item.text("type") ?? "message";
  // Every item has them, and they say nothing to another provider.
  item.take("id");
  item.take("status");
  const turn = readKind(item, type);
  item.refuseRest(NO_COUNTERPART);
  return turn;
}

function readKind(item: Fields, type: string): Turn {
  const { path } = item;
  switch (type) {
    case "message":
      return readMessage(item);
    case "function_call": {
      const id = item.needText("call_id");
      const name = flatName(item.text("namespace"), item.needText("name"));
      const signature = readGoogle(item.take("extra_content"));
      const block: Block = { kind: "tool_call", path, id, name, input: readArguments(item), signature };
      return { role: "assistant", path, blocks: [block] };
    }
    case "function_call_output":
      return { role: "user", path, blocks: [readResult(item)] };
    case "reasoning":
      return { role: "assistant", path, blocks: readReasoning(item) };
    default:
      throw notTranslatable(item.at("type"), `there is no '${type.slice(0, 40)}' there`);
  }
}

function readMessage(item: Fields): Turn {
  const { path } = item;
  const role = item.needText("role");
  item.take("phase");
  const blocks = readContent(item, "content");
  switch (role) {
    case "system":
    case "developer":
      return { role: "system", path, blocks: onlyText(blocks) };
    case "user":
    case "assistant":
      return { role, path, blocks };
    default:
      throw notTranslatable(item.at("role"), `there is no role '${role.slice(0, 40)}' there`);
  }
}

/** The blocks of a content or of a tool's output. */
function readContent(item: Fields, key: string): Block[] {
  const content = item.take(key);
  const path = item.at(key);
  if (content === undefined) return [];
  if (typeof content === "string") return [{ kind: "text", text: content, path }];
  if (!isJsonList(content)) throw invalidField(path, "must be a string or an array of parts");
  return content.map((part, place) => readPart(fieldsAt(part, `${path}.${place}`)));
}

function readPart(part: Fields): Block {
  const { path } = part;
  const type = part.needText("type");
  const block = readPartKind(part, type, path);
  part.refuseRest(NO_COUNTERPART);
  return block;
}

function readPartKind(part: Fields, type: string, path: string): Block {
  switch (type) {
    case "input_text":
    case "output_text":
    case "text":
      // What answers say beside their text and clients give back with it.
      for (const key of ["annotations", "logprobs"]) part.take(key);
      return { kind: "text", path, text: part.needText("text") };
    case "refusal":
      return { kind: "text", path, text: part.needText("refusal") };
    case "input_image":
      return { kind: "image", path, source: readImage(part) };
    case "input_file":
      return { kind: "document", path, ...readFile(part), cited: false };
    case "input_audio": {
      const audio = part.fields("input_audio");
      if (audio === undefined) throw invalidField(part.at("input_audio"), "is required");
      return { kind: "audio", path, format: audio.needText("format"), data: audio.needText("data") };
    }
    default:
      throw notTranslatable(part.at("type"), `there is no '${type.slice(0, 40)}' there`);
  }
}

/** `detail` asks for more or fewer tokens of the same image; the image as it is comes nearest. */
function readImage(part: Fields): Source {
  part.take("detail");
  if (part.take("file_id") !== undefined) throw notTranslatable(part.at("file_id"), KEPT_ELSEWHERE);
  return sourceOfUrl(part.needText("image_url"), part.at("image_url"));
}

function readFile(part: Fields): { source: Source; title: string | undefined } {
  part.take("detail");
  if (part.take("file_id") !== undefined) throw notTranslatable(part.at("file_id"), KEPT_ELSEWHERE);
  const title = part.text("filename");
  const url = part.text("file_url");
  if (url !== undefined) return { source: sourceOfUrl(url, part.at("file_url")), title };
  return { source: sourceOfUrl(part.needText("file_data"), part.at("file_data")), title };
}

function readResult(item: Fields): ToolResultBlock {
  const content = readContent(item, "output").map((block) => {
    if (block.kind === "text" || block.kind === "image" || block.kind === "document") return block;
    throw notTranslatable(block.path, "a tool's result can't hold it there");
  });
  return { kind: "tool_result", path: item.path, id: item.needText("call_id"), content, isError: false };
}

/** BH-20: no arguments at all mean an empty object. */
function readArguments(item: Fields): JsonObject {
  const text = item.text("arguments") ?? "";
  if (text.trim() === "") return {};
  const parsed = parseJsonText(text);
  if (!isJsonObject(parsed)) throw invalidField(item.at("arguments"), "must be a JSON object as a string");
  return parsed;
}

/** BH-31: what another account encrypted says nothing here and is left out; what we sealed goes back to who signed it. */
function readReasoning(item: Fields): Block[] {
  const { path } = item;
  const text = [...textsOf(item.take("summary")), ...textsOf(item.take("content"))].join("\n\n");
  const sealed = openSeal(item.text("encrypted_content"));
  if (sealed?.kind === "redacted")
    return [{ kind: "redacted", path, data: sealed.data, format: sealed.format }];
  return [{ kind: "thinking", path, text, signature: sealed?.data, format: sealed?.format }];
}

function textsOf(parts: Json | undefined): string[] {
  if (!isJsonList(parts)) return [];
  return parts.flatMap((part) =>
    isJsonObject(part) && typeof part["text"] === "string" ? [part["text"]] : [],
  );
}

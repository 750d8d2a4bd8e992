import { isJsonList, isJsonObject, type JsonObject, parseJsonText } from "../../json/lossless.ts";
import type { ThinkingFormat } from "../../neutral/events.ts";
import type { Block, Source, ToolCallBlock } from "../../neutral/request.ts";
import { sourceOfUrl } from "../../translate/data-url.ts";
import { invalidField, NO_COUNTERPART, notTranslatable } from "../../translate/fault.ts";
import { type Fields, fieldsAt } from "../../translate/fields.ts";
import { readSignature } from "../../origin/foreign-signature.ts";
import { readGoogle } from "./google-signature.ts";

const GOOGLE = "google-gemini-v1";

/** The blocks of a message's `content`: a text, a list of parts, or nothing. */
export function readContent(message: Fields, key: string): Block[] {
  const content = message.take(key);
  if (content === undefined) return [];
  const path = message.at(key);
  if (typeof content === "string") return [{ kind: "text", text: content, path }];
  if (!isJsonList(content)) throw invalidField(path, "must be a string or an array of parts");
  return content.map((part, place) => readPart(fieldsAt(part, `${path}.${place}`)));
}

function readPart(part: Fields): Block {
  const type = part.needText("type");
  const located = { path: part.path, cacheControl: part.take("cache_control") };
  const block = readKind(part, type, located);
  part.refuseRest(NO_COUNTERPART);
  return block;
}

function readKind(part: Fields, type: string, located: { path: string }): Block {
  switch (type) {
    case "text":
      return { kind: "text", text: part.needText("text"), ...located };
    case "refusal":
      return { kind: "text", text: part.needText("refusal"), ...located };
    case "image_url":
      return { kind: "image", source: readImage(part), ...located };
    case "input_audio": {
      const audio = needFields(part, "input_audio");
      return { kind: "audio", format: audio.needText("format"), data: audio.needText("data"), ...located };
    }
    case "file":
      return { kind: "document", ...readFile(part), cited: false, ...located };
    default:
      throw notTranslatable(part.at("type"), `there is no '${type}' there`);
  }
}

/** `detail` asks for more or fewer tokens of the same image; the image as it is comes nearest. */
function readImage(part: Fields): Source {
  const value = part.take("image_url");
  if (typeof value === "string") return sourceOfUrl(value, part.at("image_url"));
  if (!isJsonObject(value)) throw invalidField(part.at("image_url"), "must be an object");
  const image = fieldsAt(value, part.at("image_url"));
  image.take("detail");
  const url = image.needText("url");
  image.refuseRest(NO_COUNTERPART);
  return sourceOfUrl(url, image.at("url"));
}

function readFile(part: Fields): { source: Source; title: string | undefined } {
  const file = needFields(part, "file");
  if (file.take("file_id") !== undefined) {
    throw notTranslatable(file.at("file_id"), "the file is kept by another provider");
  }
  const source = sourceOfUrl(file.needText("file_data"), file.at("file_data"));
  return { source, title: file.text("filename") };
}

function needFields(part: Fields, key: string): Fields {
  const fields = part.fields(key);
  if (fields === undefined) throw invalidField(part.at(key), "is required");
  return fields;
}

/** The tool calls of an assistant message. */
export function readToolCalls(message: Fields): ToolCallBlock[] {
  return message.items("tool_calls").map((call) => {
    const type = call.text("type") ?? "function";
    if (type !== "function") throw notTranslatable(call.at("type"), `there are no '${type}' tools there`);
    const called = needFields(call, "function");
    return {
      kind: "tool_call",
      path: call.path,
      id: call.needText("id"),
      name: called.needText("name"),
      input: readArguments(called),
      signature: readGoogle(call.take("extra_content")),
    };
  });
}

/** BH-20: no arguments at all mean an empty object. */
function readArguments(called: Fields): JsonObject {
  const value = called.take("arguments");
  if (isJsonObject(value)) return value;
  if (value === undefined || (typeof value === "string" && value.trim() === "")) return {};
  const parsed = typeof value === "string" ? parseJsonText(value) : undefined;
  if (!isJsonObject(parsed)) throw invalidField(called.at("arguments"), "must be a JSON object as a string");
  return parsed;
}

/**
 * The reasoning that an assistant message gives back: `reasoning_details` (ours and OpenRouter's; clients that join deltas give several
 * pieces with one `index`) or `thinking_blocks`. Plain `reasoning` or `reasoning_content` is unsigned, which no target takes.
 */
export function readReasoning(message: Fields): Block[] {
  for (const key of ["reasoning", "reasoning_content"]) message.take(key);
  const details = message.items("reasoning_details");
  const blocks = message.items("thinking_blocks");
  const read = details.length > 0 ? joinDetails(details) : blocks.map(readThinkingBlock);
  const signature = readGoogle(message.take("extra_content"));
  if (signature === undefined) return read;
  return [...read, { kind: "thinking", path: message.path, text: "", signature, format: GOOGLE }];
}

function readThinkingBlock(block: Fields): Block {
  if (block.text("type") === "redacted_thinking") {
    return { kind: "redacted", path: block.path, data: block.needText("data") };
  }
  const signed = readSignature(block.text("signature"));
  return { kind: "thinking", path: block.path, text: block.text("thinking") ?? "", ...signed };
}

function joinDetails(details: readonly Fields[]): Block[] {
  const blocks: Block[] = [];
  let open:
    | {
        index: unknown;
        text: string;
        signature: string | undefined;
        path: string;
        format: ThinkingFormat | undefined;
      }
    | undefined;
  const close = (): void => {
    if (open !== undefined) blocks.push({ kind: "thinking", ...open });
    open = undefined;
  };
  for (const detail of details) {
    const named = detail.text("format");
    // Clients that join the strings of deltas repeat it.
    const format = named?.startsWith(GOOGLE) === true ? GOOGLE : undefined;
    // What nobody here can take back would make the target refuse the whole conversation.
    if (named !== undefined && format === undefined && !named.startsWith("anthropic")) continue;
    const type = detail.text("type");
    const index = detail.take("index");
    if (type === "reasoning.encrypted") {
      close();
      blocks.push({ kind: "redacted", path: detail.path, data: detail.needText("data"), format });
    } else if (type === "reasoning.text") {
      if (
        open !== undefined &&
        (open.index !== index ||
          open.format !== format ||
          (open.signature !== undefined && index === undefined))
      )
        close();
      open ??= { index, text: "", signature: undefined, path: detail.path, format };
      open.text += detail.text("text") ?? "";
      open.signature = detail.text("signature") || open.signature;
    }
  }
  close();
  return blocks;
}

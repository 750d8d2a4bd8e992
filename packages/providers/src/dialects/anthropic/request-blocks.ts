import { isJsonList, isJsonObject } from "../../json/lossless.ts";
import type { Block, Source, TextBlock, ToolResultBlock } from "../../neutral/request.ts";
import { invalidField, NO_COUNTERPART, notTranslatable } from "../../translate/fault.ts";
import { type Fields, fieldsAt } from "../../translate/fields.ts";
import { readSignature } from "../../origin/foreign-signature.ts";

/** The blocks of a `content`: a text, a list of blocks, or nothing. */
export function readBlocks(owner: Fields, key: string): Block[] {
  const content = owner.take(key);
  if (content === undefined) return [];
  const path = owner.at(key);
  if (typeof content === "string") return [{ kind: "text", text: content, path }];
  if (!isJsonList(content)) throw invalidField(path, "must be a string or an array of blocks");
  return content.flatMap((block, place) => readBlock(fieldsAt(block, `${path}.${place}`)));
}

/** The blocks of `system`, which are text. */
export function readTextBlocks(owner: Fields, key: string): TextBlock[] {
  return readBlocks(owner, key).map((block) => {
    if (block.kind === "text") return block;
    throw invalidField(block.path, "must be text");
  });
}

function readBlock(fields: Fields): Block[] {
  const type = fields.needText("type");
  const located = { path: fields.path, cacheControl: fields.take("cache_control") };
  // Of a block that nobody else knows, nothing else is read.
  if (!KNOWN.has(type)) return [{ kind: "other", type: type.slice(0, 60), ...located }];
  if (type === "document") return readDocument(fields, located);
  const block = readKind(fields, type, located);
  fields.refuseRest(NO_COUNTERPART);
  return [block];
}

const KNOWN: ReadonlySet<string> = new Set([
  "text",
  "image",
  "document",
  "thinking",
  "redacted_thinking",
  "tool_use",
  "tool_result",
  "tool_reference",
]);

function readKind(fields: Fields, type: string, located: { path: string }): Block {
  switch (type) {
    case "text":
      // An answer's citations, given back: they say where its text is from, which stays.
      fields.take("citations");
      return { kind: "text", text: fields.needText("text"), ...located };
    case "image":
      return { kind: "image", source: readSource(fields), ...located };
    case "thinking":
      return {
        kind: "thinking",
        text: fields.text("thinking") ?? "",
        ...readSignature(fields.text("signature")),
        ...located,
      };
    case "redacted_thinking":
      return { kind: "redacted", data: fields.needText("data"), ...located };
    case "tool_reference":
      // What a search for tools found: it is offered already.
      return { kind: "text", text: fields.needText("tool_name"), ...located };
    case "tool_use":
      return readToolUse(fields, located);
    default:
      return readToolResult(fields, located);
  }
}

function readToolUse(fields: Fields, located: { path: string }): Block {
  const input = fields.take("input") ?? {};
  if (!isJsonObject(input)) throw invalidField(fields.at("input"), "must be an object");
  const caller = fields.fields("caller");
  if (caller !== undefined && caller.text("type") !== "direct") {
    throw notTranslatable(caller.path, NO_COUNTERPART);
  }
  return { kind: "tool_call", id: fields.needText("id"), name: fields.needText("name"), input, ...located };
}

function readToolResult(fields: Fields, located: { path: string }): ToolResultBlock {
  const content = readBlocks(fields, "content").map((block) => {
    if (block.kind === "text" || block.kind === "image" || block.kind === "document") return block;
    throw notTranslatable(block.path, NO_COUNTERPART);
  });
  return {
    kind: "tool_result",
    id: fields.needText("tool_use_id"),
    content,
    isError: fields.flag("is_error") ?? false,
    ...located,
  };
}

/** `context` tells the model about the document and is not to be cited, so a text before it says the same. */
function readDocument(fields: Fields, located: { path: string }): Block[] {
  const title = fields.text("title");
  const context = fields.text("context");
  const cited = fields.fields("citations")?.flag("enabled") ?? false;
  const source = fields.fields("source");
  const before: Block[] =
    context === undefined ? [] : [{ kind: "text", text: context, path: fields.at("context") }];
  if (source?.text("type") === "content") {
    if (cited) throw notTranslatable(fields.at("citations"), NO_COUNTERPART);
    return [...before, ...readBlocks(source, "content")];
  }
  fields.refuseRest(NO_COUNTERPART);
  return [...before, { kind: "document", source: readSource(fields), title, cited, ...located }];
}

function readSource(fields: Fields): Source {
  const source = fields.fields("source");
  if (source === undefined) throw invalidField(fields.at("source"), "is required");
  const type = source.needText("type");
  switch (type) {
    case "url":
      return { kind: "url", url: source.needText("url") };
    case "base64":
      return { kind: "base64", mediaType: source.needText("media_type"), data: source.needText("data") };
    case "text":
      return { kind: "text", text: source.needText("data") };
    default:
      throw notTranslatable(source.path, `a '${type.slice(0, 40)}' source is kept by another provider`);
  }
}

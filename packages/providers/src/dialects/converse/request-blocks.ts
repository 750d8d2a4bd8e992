import { isJsonObject, type Json, type JsonObject } from "../../json/lossless.ts";
import type { Block, DocumentBlock, ImageBlock, ToolResultBlock } from "../../neutral/request.ts";
import { plainId } from "../../translate/call-id.ts";
import { notTranslatable } from "../../translate/fault.ts";

const IMAGES: ReadonlySet<string> = new Set(["png", "jpeg", "gif", "webp"]);

const DOCUMENTS: Readonly<Record<string, string>> = {
  "application/pdf": "pdf",
  "application/msword": "doc",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "application/vnd.ms-excel": "xls",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
  "text/csv": "csv",
  "text/html": "html",
  "text/markdown": "md",
  "text/plain": "txt",
};

/** Longest id of a tool call, and longest name of a document. */
const ID_LIMIT = 64;
const NAME_LIMIT = 200;

/** Blocks of one request in Converse's words; documents get names that no other has. */
export class BlockWriter {
  readonly #names = new Set<string>();
  readonly #takesThinking: boolean;

  /** `takesThinking`: it is Claude that reads them, who signs thinking. */
  constructor(takesThinking: boolean) {
    this.#takesThinking = takesThinking;
  }

  /** A block, with the cache point that belongs after it (BH-25). */
  write(block: Block): JsonObject[] {
    const written = this.#writeKind(block);
    const point = written.length > 0 ? cachePoint(block.cacheControl) : undefined;
    return point === undefined ? written : [...written, point];
  }

  #writeKind(block: Block): JsonObject[] {
    switch (block.kind) {
      case "text":
        // The API refuses blank text.
        return block.text.trim() === "" ? [] : [{ text: block.text }];
      case "image":
        return [{ image: writeImage(block) }];
      case "document":
        return [{ document: this.#writeDocument(block) }];
      case "thinking": {
        const { text, signature } = block;
        if (signature === undefined || !this.#isReadable(block)) return [];
        return [{ reasoningContent: { reasoningText: { text, signature } } }];
      }
      case "redacted":
        return this.#isReadable(block) ? [{ reasoningContent: { redactedContent: block.data } }] : [];
      case "tool_call": {
        const { name, input } = block;
        return [{ toolUse: { toolUseId: plainId(block.id, ID_LIMIT), name, input } }];
      }
      case "tool_result":
        return [{ toolResult: this.#writeResult(block) }];
      case "audio":
        throw notTranslatable(block.path, "audio can't be heard there");
      case "other":
        throw notTranslatable(block.path, `a '${block.type}' block has no counterpart there`);
    }
  }

  /** Thinking that is unsigned, or that another vendor signed, would make the API refuse the conversation. */
  #isReadable({ format }: { readonly format?: string | undefined }): boolean {
    return this.#takesThinking && (format === undefined || format === "anthropic-claude-v1");
  }

  #writeResult(block: ToolResultBlock): JsonObject {
    return {
      toolUseId: plainId(block.id, ID_LIMIT),
      content: block.content.flatMap((part) => this.#writeKind(part)),
      status: block.isError ? "error" : undefined,
    };
  }

  #writeDocument(block: DocumentBlock): JsonObject {
    const { source, path } = block;
    if (source.kind === "url") throw notTranslatable(path, "documents can't be fetched by URL there");
    const common = {
      name: this.#nameFor(block.title),
      citations: block.cited ? { enabled: true } : undefined,
    };
    if (source.kind === "text") return { format: "txt", source: { text: source.text }, ...common };
    const isText = source.mediaType.startsWith("text/");
    const format = DOCUMENTS[source.mediaType] ?? (isText ? "txt" : undefined);
    if (format === undefined) {
      throw notTranslatable(
        path,
        `documents of type '${source.mediaType.slice(0, 100)}' can't be read there`,
      );
    }
    return { format, source: { bytes: source.data }, ...common };
  }

  /** The API takes few characters in names, and each name once. */
  #nameFor(title: string | undefined): string {
    const plain = (title ?? "")
      .replace(/[^a-zA-Z0-9\s()[\]-]/gu, "-")
      .replace(/\s+/gu, " ")
      .trim();
    const base = plain.slice(0, NAME_LIMIT - 8) || "document";
    let name = base;
    for (let number = 2; this.#names.has(name); number++) name = `${base} (${number})`;
    this.#names.add(name);
    return name;
  }
}

/** The cache point that a breakpoint is; five minutes is how long both keep by themselves. */
export function cachePoint(control: Json | undefined): JsonObject | undefined {
  if (!isJsonObject(control)) return undefined;
  const ttl = control["ttl"] === "1h" ? "1h" : undefined;
  return { cachePoint: { type: "default", ttl } };
}

function writeImage({ source, path }: ImageBlock): JsonObject {
  if (source.kind !== "base64") throw notTranslatable(path, "images can't be fetched by URL there");
  const format = source.mediaType.replace(/^image\/(?:(jpg)$)?/u, (_, jpg) => (jpg ? "jpeg" : ""));
  if (!IMAGES.has(format)) {
    throw notTranslatable(path, `images of type '${source.mediaType.slice(0, 100)}' can't be seen there`);
  }
  return { format, source: { bytes: source.data } };
}

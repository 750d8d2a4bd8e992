import { normaliseCode } from "./error-rule.ts";
import { reasonOfStatus } from "./status-class.ts";

/** What an error body says, whatever its form. */
export interface ErrorFacts {
  /** The provider's own words for a person, untruncated. */
  readonly message: string;
  readonly type: string | undefined;
  readonly code: string | undefined;
  readonly param: string | null | undefined;
  /** Normalised codes, types and status words of the whole body. */
  readonly codes: ReadonlySet<string>;
  /** All messages of the body, lower-cased, with single spaces. */
  readonly text: string;
  /** An HTTP status the body names. */
  readonly bodyStatus: number | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** Error bodies are small; what lies beyond these is a prompt echoed back or an attack. */
const limits = { nodes: 400, depth: 8, text: 8192, piece: 4096, codes: 64, nested: 4 };

const messageKeys = [
  "message",
  "msg",
  "error_message",
  "error_msg",
  "errorMessage",
  "Message",
  "status_msg",
  "detail",
  "title",
  "error_description",
  "description",
];
const textKeys = new Set([...messageKeys, "details", "error", "errors", "raw", "reason", "failure_reason"]);
const codeKeys = new Set([
  "code",
  "type",
  "status",
  "reason",
  "error_code",
  "error_type",
  "errorCode",
  "errorType",
  "Code",
  "__type",
  "provider_code",
  "blockReason",
  "exception",
]);
const statusKeys = new Set([
  "code",
  "status",
  "status_code",
  "statusCode",
  "raw_status_code",
  "error_code",
  "upstreamStatus",
]);
/** Only these are entered: other members may hold the caller's own words (choices, metadata of a response, input). */
const containers = new Set([
  "error",
  "errors",
  "detail",
  "details",
  "innererror",
  "inner_error",
  "metadata",
  "violations",
  "base_resp",
  "cause",
  "fault",
  "upstream_error",
  "previous_errors",
  "message",
  "Response",
  "Error",
]);
const exceptionMember = /^[a-z][a-z]{1,40}Exception$/i;

/** Collects the facts of a body; a gathering of small pieces that stops at its limits. */
class Collector {
  readonly codes = new Set<string>();
  readonly texts: string[] = [];
  bodyStatus: number | undefined;
  #nodes = 0;
  #textLength = 0;
  #nested = 0;

  addCode(code: string): void {
    // A sentence in a code's place is a message (xAI).
    if (code.includes(" ")) this.addText(code);
    if (code.length <= 160 && this.codes.size < limits.codes) this.codes.add(normaliseCode(code));
  }

  /** MiniMax's numbers mean other things than the same numbers elsewhere. */
  #addBaseResp(answer: Fields): void {
    const number = answer["status_code"];
    if (typeof number === "number" && number !== 0) this.codes.add(`baseresp:${number}`);
  }

  /** Google says which window is full only in the quota's name. */
  #addQuota(quotaId: string): void {
    this.codes.add(`quota:${normaliseCode(quotaId.slice(0, 160))}`);
  }

  addText(text: string, depth = 0): void {
    if (this.#textLength >= limits.text) return;
    // What a validator prints behind `input` are the caller's own words.
    const own = text.split(/["']input["']\s?:\s?[[{"']/, 1)[0] ?? "";
    const piece = own.slice(0, limits.piece);
    this.#textLength += piece.length;
    this.texts.push(piece);
    this.#enterNested(own, depth);
  }

  /** A string may hold another provider's whole answer, alone or behind a prefix. */
  #enterNested(text: string, depth: number): void {
    const start = text.search(/[{[]/);
    if (start < 0 || this.#nested >= limits.nested) return;
    this.#nested += 1;
    const inner = parseJson(text.slice(start, Math.max(text.lastIndexOf("}"), text.lastIndexOf("]")) + 1));
    if (isFields(inner) || Array.isArray(inner)) this.walk(inner, depth + 1);
    else this.scan(text.slice(start, start + limits.piece));
  }

  /** Reads codes and messages out of text that is JSON but cut off, or printed by another language. */
  scan(text: string): string | undefined {
    const plain = text.replaceAll("\\n", " ").replaceAll("\\", "");
    for (const match of plain.matchAll(
      /["'](code|type|status|reason|quotaId)["']\s?:\s?["']?([\w.-]{1,160})/g,
    )) {
      const value = match[2] ?? "";
      if (match[1] === "quotaId") this.#addQuota(value);
      else this.addCode(value);
      this.noteStatus(value);
    }
    return /["'](?:message|msg|detail)["']\s?:\s?(?:"([^"]{1,4096})|'([^']{1,4096}))/
      .exec(plain)
      ?.slice(1)
      .find(Boolean);
  }

  noteStatus(value: unknown): void {
    const status = typeof value === "string" && /^[45]\d\d$/.test(value) ? Number(value) : value;
    if (typeof status !== "number" || !Number.isInteger(status) || status < 400 || status > 599) return;
    this.bodyStatus ??= status;
  }

  walk(value: unknown, depth: number): void {
    if (depth > limits.depth || this.#nodes >= limits.nodes) return;
    this.#nodes += 1;
    if (Array.isArray(value)) {
      for (const item of value.slice(0, 20)) this.#item(item, depth);
      return;
    }
    if (!isFields(value)) return;
    for (const [key, member] of Object.entries(value).slice(0, 60)) this.#member(key, member, depth);
  }

  #item(item: unknown, depth: number): void {
    if (typeof item === "string") this.addText(item, depth);
    else this.walk(item, depth + 1);
  }

  #member(key: string, member: unknown, depth: number): void {
    if (statusKeys.has(key)) this.noteStatus(member);
    if (key === "flagged_input") this.addCode(key);
    if (key === "base_resp" && isFields(member)) this.#addBaseResp(member);
    if (key === "response" && isFields(member)) this.walk({ error: member["error"] }, depth + 1);
    if (typeof member === "number" && codeKeys.has(key)) this.addCode(String(member));
    if (typeof member === "string" && codeKeys.has(key)) this.addCode(member);
    if (typeof member === "string" && key === "quotaId") this.#addQuota(member);
    // Some put the sentence where the parameter's name belongs.
    if (typeof member === "string" && (textKeys.has(key) || (key === "param" && member.includes(" "))))
      this.addText(member, depth);
    if (typeof member !== "object" || member === null) return;
    if (exceptionMember.test(key)) this.addCode(key);
    if (containers.has(key) || exceptionMember.test(key)) this.walk(member, depth + 1);
  }
}

/**
 * Reads the body of an error answer.
 * @param headerCodes codes that stand in headers (`x-amzn-ErrorType`, the exception type of an event-stream frame)
 */
export function readErrorFacts(status: number, body: string, headerCodes: readonly string[]): ErrorFacts {
  const collector = new Collector();
  for (const code of headerCodes) collector.addCode(code);
  const trimmed = body
    .replace(/^\uFEFF/, "")
    .trim()
    .replace(/^data:\s?/, "");
  const parsed = parseJson(trimmed);
  const main = mainObject(parsed);
  let message = messageOf(parsed, main);
  if (parsed !== undefined) collector.walk(parsed, 0);
  if (typeof parsed === "string") collector.addText(parsed);
  if (parsed === undefined) {
    const plain = plainText(trimmed);
    message = (/^[{[]/.test(trimmed) ? collector.scan(trimmed.slice(0, limits.text)) : undefined) ?? plain;
    collector.addText(plain);
  }
  if (message !== undefined && collector.texts.length === 0) collector.addText(message);
  return {
    message: message === undefined || message === "" ? reasonOfStatus(status) : message,
    type: word(main?.["type"]) ?? word(main?.["error_type"]),
    code: codeOf(main) ?? exceptionName(word(main?.["__type"]) ?? headerCodes[0]),
    param: main?.["param"] === null ? null : word(main?.["param"]),
    codes: collector.codes,
    text: collector.texts
      .join("\n")
      .toLowerCase()
      .replaceAll("’", "'")
      .replace(/[^\S\n]+/g, " "),
    bodyStatus: collector.bodyStatus,
  };
}

/** The object that carries message, type and code: `error`, in a list or not, else the body itself. */
function mainObject(parsed: unknown): Fields | undefined {
  const first = Array.isArray(parsed) ? (parsed as readonly unknown[])[0] : parsed;
  if (!isFields(first)) return undefined;
  const response = first["response"];
  const error = first["error"] ?? (isFields(response) ? response["error"] : undefined);
  if (isFields(error)) return error;
  const detail = first["detail"];
  return isFields(detail) ? detail : first;
}

/** Google's code is the HTTP status once more; the word beside it says what happened. */
function codeOf(main: Fields | undefined): string | undefined {
  const status = main?.["status"];
  const isWord = typeof status === "string" && /^[A-Z_]+$/.test(status);
  return isWord && typeof main?.["code"] === "number" ? status : word(main?.["code"]);
}

/** AWS's names of errors may stand between a namespace and an address. */
function exceptionName(said: string | undefined): string | undefined {
  return /(?:^|#)([A-Za-z]\w{0,79})(?::|$)/.exec(said ?? "")?.[1];
}

function messageOf(parsed: unknown, main: Fields | undefined): string | undefined {
  if (typeof parsed === "string") return parsed;
  if (main === undefined) return undefined;
  const said = messageKeys.map((key) => main[key]).find((value) => typeof value === "string" && value !== "");
  const text = typeof said === "string" ? said : word(main["error"]);
  const metadata = main["metadata"];
  const raw = isFields(metadata) ? word(metadata["raw"]) : undefined;
  // OpenRouter's own sentence says nothing; the provider's answer is beside it.
  if (raw !== undefined && (text === undefined || /^provider returned error/i.test(text)))
    return rawMessage(raw);
  const list = validationText(main["detail"]) ?? validationText(main["errors"]);
  // Mistral and Tencent put an object where the sentence belongs.
  const deeper = [main["message"], main["Response"], main["Error"]].find(isFields);
  return (
    text ?? list ?? (deeper === undefined ? undefined : messageOf(deeper, deeper)) ?? nestedMessage(main)
  );
}

function rawMessage(raw: string): string {
  const inner = parseJson(raw);
  return (inner === undefined ? undefined : messageOf(inner, mainObject(inner))) ?? raw;
}

/** Bedrock's in-stream form: `{"throttlingException":{"message":…}}`. */
function nestedMessage(main: Fields): string | undefined {
  for (const value of Object.values(main).slice(0, 10)) {
    if (isFields(value) && typeof value["message"] === "string") return value["message"];
  }
  return undefined;
}

/** FastAPI's list of faults: `[{"loc":["body","x"],"msg":"bad"}]`. */
function validationText(list: unknown): string | undefined {
  if (!Array.isArray(list)) return undefined;
  const lines = (list as readonly unknown[]).slice(0, 20).map((item) => {
    if (typeof item === "string") return item;
    if (!isFields(item)) return "";
    const where = Array.isArray(item["loc"]) ? `${item["loc"].map(String).join(".")}: ` : "";
    return `${where}${word(item["msg"]) ?? word(item["message"]) ?? ""}`;
  });
  return lines.filter((line) => line !== "").join("; ") || undefined;
}

/** The readable part of a page; of any other text, all of it. */
function plainText(text: string): string {
  if (!/^<(?:!|[a-z])/i.test(text)) return text;
  const visible = text
    .replace(/<(style|script)\b[^>]{0,200}>/gi, "\u0000<$1>")
    .split("\u0000")
    .map((part) => part.replace(/^<(?:style|script)>[^<]*/i, ""))
    .join(" ");
  return visible
    .replace(/<[^<>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

function parseJson(text: string): unknown {
  if (!/^[{["]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function word(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? value : undefined;
}

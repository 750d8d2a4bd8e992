import { type Json, type JsonObject, printJson } from "../../json/lossless.ts";
import type {
  Block,
  DocumentBlock,
  ImageBlock,
  NeutralRequest,
  TextBlock,
  Tool,
  ToolCallBlock,
  ToolChoice,
  ToolResultBlock,
  Turn,
} from "../../neutral/request.ts";
import { shortId } from "../../translate/call-id.ts";
import { urlOfSource } from "../../translate/data-url.ts";
import { notTranslatable } from "../../translate/fault.ts";
import { Fields } from "../../translate/fields.ts";
import type { Target } from "../format.ts";
import { NO_SIGNATURE, wantsSignatures } from "../../origin/no-signature.ts";
import { writeGoogle } from "./google-signature.ts";
import { isStrictSchema } from "./strict-schema.ts";

const GOOGLE = "google-gemini-v1";
/** Longest `user` that OpenAI takes. */
const USER_LIMIT = 64;
const STOP_LIMIT = 4;
/** Longest id of a call that OpenAI takes. */
const ID_LIMIT = 40;
/** These APIs have no field that says that a tool failed (BH-24). */
const ERROR_MARK = "[tool error]";
/** Budgets up to which an effort comes nearest, tokens. */
const LOW_BUDGET = 4096;
const MEDIUM_BUDGET = 16_384;

/** Models that refuse an answer of theirs in the history without what they thought, by the names that their vendors give them. */
const WANTS_THINKING = /^(?:deepseek-(?:chat|reasoner|v\d)|kimi-)/u;
/** The least that they take for the thinking of an answer that came without, or from another vendor. */
const NO_THINKING = " ";
/** Models that think unless they are told not to, by their vendors' names and in their vendors' word; others know none for it. */
const CAN_BE_QUIET = /^(?:deepseek-v\d|kimi-k(?:2\.[5-9]|[3-9])|glm-(?:4\.[5-9]|[5-9]))/u;

/** Writes a chat completion's body. Cache breakpoints are left out: these APIs cache by themselves. */
export function writeChatRequest(request: NeutralRequest, target: Target): Json {
  const isOpenAi = target.family === "openai" || target.family === "azure_openai";
  const last = request.turns.at(-1);
  if (last?.role === "assistant") throw notTranslatable(last.path, "an answer can't be begun for the model");
  if (request.topK !== undefined && isOpenAi) throw notTranslatable("top_k", "it has no counterpart there");
  if (request.stop.length > STOP_LIMIT && isOpenAi) {
    throw notTranslatable("stop_sequences", `no more than ${STOP_LIMIT} are taken there`);
  }
  const extras = new Fields(request.extras, "");
  extras.take("cache_control");
  extras.refuseRest("it has no counterpart there");
  const hasTools = request.tools.length > 0;
  return {
    model: target.model,
    messages: [
      ...writeSystem(request.system),
      ...request.turns.flatMap((turn) => writeTurn(turn, wishesOf(target))),
    ],
    [isOpenAi ? "max_completion_tokens" : "max_tokens"]: request.maxTokens,
    temperature: request.temperature,
    top_p: request.topP,
    top_k: request.topK,
    stop: request.stop.length > 0 ? request.stop : undefined,
    tools: hasTools ? request.tools.map(writeTool) : undefined,
    tool_choice: hasTools ? writeToolChoice(request.toolChoice) : undefined,
    parallel_tool_calls: hasTools ? request.parallelTools : undefined,
    response_format: writeFormat(request),
    reasoning_effort: writeEffort(request),
    thinking:
      request.reasoning?.off === true && !isOpenAi && CAN_BE_QUIET.test(target.model)
        ? { type: "disabled" }
        : undefined,
    user: request.user?.slice(0, USER_LIMIT),
    service_tier: request.serviceTier === "standard" && isOpenAi ? "default" : undefined,
    stream: request.stream || undefined,
    stream_options: request.stream ? { include_usage: true } : undefined,
  };
}

function writeSystem(blocks: readonly TextBlock[]): Json[] {
  return blocks.length === 0
    ? []
    : [{ role: "system", content: blocks.map(({ text }) => text).join("\n\n") }];
}

/** What of an answer's thinking comes back to who made it. */
interface Wishes {
  /** The text that nobody signed. */
  readonly thinking: boolean;
  /** Google's signatures. */
  readonly signatures: boolean;
  /** A call without one has to say so (BH-26). */
  readonly everyCallSigned: boolean;
}

function wishesOf({ family, model }: Target): Wishes {
  const isOpenAi = family === "openai" || family === "azure_openai";
  return {
    thinking: !isOpenAi && WANTS_THINKING.test(model),
    signatures: family === "gemini",
    everyCallSigned: family === "gemini" && wantsSignatures(model),
  };
}

function writeTurn(turn: Turn, wishes: Wishes): Json[] {
  if (turn.role === "system") return writeSystem(turn.blocks as readonly TextBlock[]);
  return turn.role === "assistant" ? [writeAssistant(turn, wishes)] : writeUser(turn);
}

/**
 * Signed thinking is left out knowingly: only the vendor that signed it can use it, and of these only Google did, which takes the
 * signature alone, with the call or the text that it came with. Of what nobody signed most servers refuse the field, and some ask for it.
 */
function writeAssistant(turn: Turn, wishes: Wishes): Json {
  const calls: JsonObject[] = [];
  let text = "";
  let thought = "";
  let pending: string | undefined;
  let signature: string | undefined;
  for (const block of turn.blocks) {
    if (block.kind === "text") {
      text += block.text;
      signature ??= pending;
      pending = undefined;
    } else if (block.kind === "tool_call") {
      calls.push(writeCall(block, wishes.signatures ? (block.signature ?? pending) : undefined));
      pending = undefined;
    } else if (block.kind === "thinking" && block.format === GOOGLE) pending = block.signature;
    else if (block.kind === "thinking") thought += block.signature === undefined ? block.text : "";
    else if (block.kind !== "redacted") throw refusal(block);
  }
  const [first] = calls;
  const lacks = wishes.everyCallSigned && calls.every(({ extra_content }) => extra_content === undefined);
  if (first !== undefined && lacks) calls[0] = { ...first, extra_content: writeGoogle(NO_SIGNATURE) };
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    reasoning_content: wishes.thinking ? thought || NO_THINKING : undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
    extra_content: wishes.signatures ? writeGoogle(signature ?? pending) : undefined,
  };
}

function writeCall(block: ToolCallBlock, signature: string | undefined): JsonObject {
  return {
    id: shortId(block.id, ID_LIMIT),
    type: "function",
    function: { name: block.name, arguments: printJson(block.input) },
    extra_content: writeGoogle(signature),
  };
}

/** BH-24: results first and in a row, then what they can't hold, then what the user says. */
function writeUser(turn: Turn): Json[] {
  const results = turn.blocks.filter((block) => block.kind === "tool_result");
  const said = turn.blocks.filter((block) => block.kind !== "tool_result");
  const shown = results.flatMap((result) => attachments(result).map((block) => ({ result, block })));
  const parts = [
    ...shown.flatMap(({ result, block }) => [
      { type: "text", text: `From the result of tool call ${result.id}:` },
      writePart(block),
    ]),
    ...said.map(writePart),
  ];
  const messages: Json[] = results.map(writeResult);
  const only = said.length === 1 && parts.length === 1 ? said[0] : undefined;
  if (only?.kind === "text") messages.push({ role: "user", content: only.text });
  else if (parts.length > 0 || results.length === 0) messages.push({ role: "user", content: parts });
  return messages;
}

function attachments(result: ToolResultBlock): (ImageBlock | DocumentBlock)[] {
  return result.content.filter((block) => block.kind !== "text");
}

function writeResult(result: ToolResultBlock): Json {
  const pieces = result.content.map((block) =>
    block.kind === "text" ? block.text : `[${block.kind}: in the next user message]`,
  );
  const text = pieces.join("\n");
  return {
    role: "tool",
    tool_call_id: shortId(result.id, ID_LIMIT),
    content: !result.isError ? text : text === "" ? ERROR_MARK : `${ERROR_MARK} ${text}`,
  };
}

function writePart(block: Block): JsonObject {
  switch (block.kind) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
      if (block.source.kind === "text") throw refusal(block);
      return { type: "image_url", image_url: { url: urlOfSource(block.source) } };
    case "audio":
      return { type: "input_audio", input_audio: { data: block.data, format: block.format } };
    case "document":
      return writeDocument(block);
    default:
      throw refusal(block);
  }
}

function writeDocument(block: DocumentBlock): JsonObject {
  const { source, title } = block;
  if (block.cited) throw notTranslatable(`${block.path}.citations`, "it has no counterpart there");
  if (source.kind === "url")
    throw notTranslatable(`${block.path}.source`, "documents can't be fetched by URL there");
  if (source.kind === "text") {
    return { type: "text", text: title === undefined ? source.text : `${title}\n\n${source.text}` };
  }
  return { type: "file", file: { filename: title ?? "document.pdf", file_data: urlOfSource(source) } };
}

function writeTool(tool: Tool): Json {
  const { name, description, schema, strict } = tool;
  return { type: "function", function: { name, description, parameters: schema, strict } };
}

function writeToolChoice(choice: ToolChoice | undefined): Json | undefined {
  if (choice === undefined) return undefined;
  return choice.mode === "tool" ? { type: "function", function: { name: choice.name } } : choice.mode;
}

function writeFormat({ format }: NeutralRequest): Json | undefined {
  if (format === undefined) return undefined;
  if (format.kind === "json") return { type: "json_object" };
  const { schema, name = "answer", description, strict = isStrictSchema(schema) } = format;
  return { type: "json_schema", json_schema: { name, description, schema, strict } };
}

/** Efforts beyond `high` are known to few models, so `high` is the nearest; no wish is no field. */
function writeEffort({ reasoning }: NeutralRequest): Json | undefined {
  if (reasoning === undefined || reasoning.off) return undefined;
  const { effort, budget } = reasoning;
  if (effort !== undefined) return effort === "xhigh" || effort === "max" ? "high" : effort;
  if (budget === undefined) return undefined;
  return budget <= LOW_BUDGET ? "low" : budget <= MEDIUM_BUDGET ? "medium" : "high";
}

function refusal(block: Block): Error {
  const what = block.kind === "other" ? block.type : block.kind;
  return notTranslatable(block.path, `a '${what}' block has no counterpart there`);
}

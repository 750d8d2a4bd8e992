import { EOF, G, HANG, json, NEXT, sse } from "@switchyard/testkit";
import type { Answer, Step } from "@switchyard/testkit";
import {
  fieldsOf,
  halves,
  listOf,
  MESSAGES,
  need,
  needConversation,
  only,
  SIGNATURE,
  textOf,
  USED,
} from "./vendor.ts";
import type { Fields, Mistake, Part, Said, Turn, Vendor } from "./vendor.ts";

const KNOWN = "contents systemInstruction tools toolConfig generationConfig";
const CONFIG =
  "maxOutputTokens temperature topP topK stopSequences responseMimeType responseJsonSchema thinkingConfig";
const BYPASS = "skip_thought_signature_validator";
const STATUS: Readonly<Record<Mistake, readonly [number, string]>> = {
  rate_limited: [429, "RESOURCE_EXHAUSTED"],
  overloaded: [503, "UNAVAILABLE"],
  invalid_request: [400, "INVALID_ARGUMENT"],
  context_length: [400, "INVALID_ARGUMENT"],
};

/** Google's `generateContent` with a Gemini 3 behind it, which wants its signatures back. */
export const gemini: Vendor = {
  signs: true,
  tellsWait: false,
  read: (call) => {
    const body = only(call.json(), "body", KNOWN);
    const config = only(body["generationConfig"] ?? {}, "generationConfig", CONFIG);
    const schema = config["responseJsonSchema"];
    need(schema === undefined || config["responseMimeType"] === "application/json", "responseMimeType");
    const thinking = only(
      config["thinkingConfig"] ?? {},
      "thinkingConfig",
      "includeThoughts thinkingLevel thinkingBudget",
    );
    const levels = [thinking["thinkingLevel"], thinking["thinkingBudget"]];
    need(levels.includes(undefined), "thinkingConfig: a level or a budget, not both");
    const system = only(body["systemInstruction"] ?? { parts: [] }, "systemInstruction", "parts role");
    return {
      system: listOf(system["parts"], "systemInstruction.parts")
        .map((part) => textOf(only(part, "systemInstruction", "text")["text"], "systemInstruction"))
        .join("\n"),
      turns: needConversation(listOf(body["contents"], "contents").map(readTurn)),
      tools: listOf(body["tools"] ?? [], "tools").flatMap(readTools),
      schema,
      thinks: thinking["includeThoughts"] === true,
    };
  },
  say: (said, call) => (call.path.includes(":streamGenerateContent?alt=sse") ? stream(said) : whole(said)),
  fail: (mistake, message = MESSAGES[mistake]) => {
    const [status, word] = STATUS[mistake];
    const wording =
      mistake === "context_length"
        ? "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
        : message;
    const retry = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "3s" }];
    const details = mistake === "rate_limited" ? { details: retry } : {};
    return json(status, { error: { code: status, message: wording, status: word, ...details } });
  },
};

function readTools(tool: unknown): string[] {
  const { functionDeclarations } = only(tool, "tools", "functionDeclarations");
  return listOf(functionDeclarations, "functionDeclarations").map((each) => {
    const { name, parametersJsonSchema } = only(
      each,
      "functionDeclarations",
      "name description parametersJsonSchema",
    );
    fieldsOf(parametersJsonSchema, "parametersJsonSchema");
    return textOf(name, "functionDeclarations.name");
  });
}

function readTurn(content: unknown, place: number): Turn {
  const path = `contents.${place}`;
  const { role, parts } = only(content, path, "role parts");
  need(role === "user" || role === "model", `${path}.role`);
  const list = listOf(parts, path).map((part) => fieldsOf(part, path));
  if (role === "model") needSignature(list, path);
  return {
    role: role === "model" ? "assistant" : "user",
    parts: list.flatMap((part) => readPart(part, path)),
  };
}

/** The first call of a turn has one, no other has. */
function needSignature(parts: readonly Fields[], path: string): void {
  const calls = parts.filter(({ functionCall }) => functionCall !== undefined);
  for (const [place, { thoughtSignature }] of calls.entries()) {
    const good =
      place > 0 ? thoughtSignature === undefined : [SIGNATURE, BYPASS].includes(thoughtSignature as string);
    need(good, `${path}: Function call is missing a thought_signature in functionCall parts`);
  }
}

function readPart(part: Fields, path: string): Part[] {
  const { text, inlineData, functionCall, functionResponse, thoughtSignature } = only(
    part,
    path,
    "text inlineData functionCall functionResponse thoughtSignature",
  );
  const signature = thoughtSignature as string | undefined;
  const signed: Part[] = signature === undefined ? [] : [{ kind: "thinking", text: "", signature }];
  if (functionCall !== undefined) {
    const { name, args } = only(functionCall, path, "name args");
    // Known by name: no tool is called twice here.
    const id = textOf(name, path);
    return [...signed, { kind: "call", id, name: id, args: fieldsOf(args ?? {}, path) }];
  }
  if (functionResponse !== undefined) {
    const { name, response } = only(functionResponse, path, "name response");
    const { output } = only(response, path, "output error");
    return [{ kind: "result", id: textOf(name, path), text: String(output) }];
  }
  if (inlineData !== undefined) {
    const { mimeType, data } = only(inlineData, path, "mimeType data");
    return [{ kind: "image", mediaType: textOf(mimeType, path), data: textOf(data, path) }];
  }
  return [...signed, { kind: "text", text: textOf(text, path) }];
}

const USAGE = {
  promptTokenCount: USED.input,
  cachedContentTokenCount: USED.cached,
  candidatesTokenCount: USED.output - USED.reasoning,
  thoughtsTokenCount: USED.reasoning,
  totalTokenCount: USED.input + USED.output,
};

/** A signature comes with the first call, or with the text where there is none. */
function partsOf({ thinking, text, calls = [] }: Said): Fields[] {
  const signature = { thoughtSignature: SIGNATURE };
  return [
    ...(thinking === undefined ? [] : [{ text: thinking, thought: true }]),
    ...(text === undefined ? [] : [{ text }]),
    ...calls.map(({ name, args }, place) => ({
      functionCall: { name, args: JSON.parse(args) as unknown },
      ...(place === 0 ? signature : {}),
    })),
  ];
}

function chunkOf(parts: readonly Fields[], more: object = {}): object {
  return {
    candidates: [{ index: 0, content: { role: "model", parts }, ...more }],
    usageMetadata: USAGE,
    modelVersion: "gemini-3",
    responseId: "r1",
  };
}

function whole(said: Said): Answer {
  return json(200, chunkOf(partsOf(said), { finishReason: "STOP" }));
}

function stream(said: Said): Answer {
  const steps: Step[] = [];
  for (const part of partsOf(said)) {
    const pieces = typeof part["text"] === "string" ? halves(part["text"]) : undefined;
    if (pieces === undefined) steps.push(G(chunkOf([part])));
    else for (const text of pieces) steps.push(G(chunkOf([{ ...part, text }])), NEXT);
  }
  if (said.hangs === true) return sse([...steps, HANG]);
  return sse([...steps, NEXT, G(chunkOf([{ text: "" }], { finishReason: "STOP" })), EOF]);
}

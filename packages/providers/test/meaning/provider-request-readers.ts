import { type Asked, type Part, settled, type Turn } from "./conversation.ts";
import { choiceOf, number, type RequestReader, texts } from "./request-readers.ts";
import { type Fields, fields, list, parse, parseOrText, text } from "./values.ts";

/** Of Bedrock's Converse, put to Claude. */
export const readConverseAsked: RequestReader = (body) => {
  const asked = fields(parse(body));
  const config = fields(asked["toolConfig"]);
  const inference = fields(asked["inferenceConfig"]);
  const model = fields(asked["additionalModelRequestFields"]);
  const [kind, chosen] = Object.entries(fields(config["toolChoice"]))[0] ?? [];
  const claudes = fields(model["tool_choice"]);
  const single = claudes["disable_parallel_tool_use"];
  const format = fields(fields(asked["outputConfig"])["textFormat"]);
  const schema = fields(fields(format["structure"])["jsonSchema"])["schema"];
  return {
    system: said(asked["system"]).map((block) => text(fields(block)["text"])),
    turns: settled(
      list(asked["messages"]).map((value) => {
        const { role, content } = fields(value);
        return {
          role: role as Turn["role"],
          parts: cachedParts(content),
        };
      }),
    ),
    tools: said(config["tools"]).map((value) => {
      const spec = fields(fields(value)["toolSpec"]);
      return {
        name: text(spec["name"]),
        description: text(spec["description"]),
        schema: fields(spec["inputSchema"])["json"],
      };
    }),
    choice: choiceOf(kind ?? claudes["type"], fields(chosen)["name"] ?? claudes["name"]),
    parallel: typeof single === "boolean" ? !single : undefined,
    maxTokens: number(inference["maxTokens"]),
    temperature: number(inference["temperature"]),
    topP: number(inference["topP"]),
    topK: number(model["top_k"]),
    stop: texts(inference["stopSequences"]),
    schema: schema === undefined ? undefined : parseOrText(text(schema)),
  };
};

/** A cache point marks what stands before it. */
function cachedParts(content: unknown): Part[] {
  const parts: Part[] = [];
  for (const block of list(content)) {
    const last = parts.at(-1);
    if (!("cachePoint" in fields(block))) parts.push(conversePart(fields(block)));
    else if (last?.kind === "text") parts[parts.length - 1] = { ...last, cached: true };
  }
  return parts;
}

/** Cache points say nothing to the model. */
function said(blocks: unknown): readonly unknown[] {
  return list(blocks).filter((block) => !("cachePoint" in fields(block)));
}

function conversePart(block: Fields): Part {
  for (const kind of ["image", "document"] as const) {
    if (!(kind in block)) continue;
    const { format, source } = fields(block[kind]);
    const media = kind === "image" ? `image/${text(format)}` : `application/${text(format)}`;
    return { kind, media, data: text(fields(source)["bytes"]) };
  }
  if ("toolUse" in block) {
    const { toolUseId, name, input } = fields(block["toolUse"]);
    return { kind: "call", id: text(toolUseId), name: text(name), input };
  }
  if ("toolResult" in block) {
    const { toolUseId, content, status } = fields(block["toolResult"]);
    const told = list(content).map((part) => text(fields(part)["text"]));
    return { kind: "result", id: text(toolUseId), text: told.join("\n"), failed: status === "error" };
  }
  if ("reasoningContent" in block) {
    const reasoning = fields(block["reasoningContent"]);
    if ("redactedContent" in reasoning) return { kind: "redacted", data: text(reasoning["redactedContent"]) };
    const { signature, ...thought } = fields(reasoning["reasoningText"]);
    return { kind: "thinking", text: text(thought["text"]), signature: text(signature) };
  }
  return { kind: "text", text: text(block["text"]) };
}

/** Of Gemini's `generateContent`. Its calls have no ids: they are counted, and results stand in the order of their calls. */
export const readGeminiAsked: RequestReader = (body) => {
  const asked = fields(parse(body));
  const config = fields(asked["generationConfig"]);
  const { mode, allowedFunctionNames } = fields(fields(asked["toolConfig"])["functionCallingConfig"]);
  const [only] = texts(allowedFunctionNames);
  let calls = 0;
  let results = 0;
  const turns = list(asked["contents"]).map((value) => {
    const { role, parts } = fields(value);
    const read = list(parts).map((part) =>
      geminiPart(
        fields(part),
        () => calls++,
        () => results++,
      ),
    );
    return { role: role === "model" ? ("assistant" as const) : ("user" as const), parts: read };
  });
  const modes: Readonly<Record<string, Asked["choice"]>> = { AUTO: "auto", ANY: "required", NONE: "none" };
  return {
    system: list(fields(asked["systemInstruction"])["parts"]).map((part) => text(fields(part)["text"])),
    turns: settled(turns),
    tools: list(asked["tools"])
      .flatMap((value) => list(fields(value)["functionDeclarations"]))
      .map((value) => {
        const { name, description, parametersJsonSchema } = fields(value);
        return { name: text(name), description: text(description), schema: parametersJsonSchema };
      }),
    choice: only === undefined ? modes[text(mode)] : { name: only },
    parallel: undefined,
    maxTokens: number(config["maxOutputTokens"]),
    temperature: number(config["temperature"]),
    topP: number(config["topP"]),
    topK: number(config["topK"]),
    stop: texts(config["stopSequences"]),
    schema: config["responseJsonSchema"],
  };
};

function geminiPart(part: Fields, nextCall: () => number, nextResult: () => number): Part {
  const inline = fields(part["inlineData"]);
  if ("functionCall" in part) {
    const { name, args } = fields(part["functionCall"]);
    return { kind: "call", id: `call_${nextCall()}`, name: text(name), input: args };
  }
  if ("functionResponse" in part) {
    const { output, error } = fields(fields(part["functionResponse"])["response"]);
    return {
      kind: "result",
      id: `call_${nextResult()}`,
      text: text(output ?? error),
      failed: error !== undefined,
    };
  }
  if ("inlineData" in part) {
    const media = text(inline["mimeType"]);
    return { kind: media.startsWith("image/") ? "image" : "document", media, data: text(inline["data"]) };
  }
  if ("fileData" in part) return { kind: "image", url: text(fields(part["fileData"])["fileUri"]) };
  return { kind: "text", text: text(part["text"]) };
}

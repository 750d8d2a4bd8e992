import { create } from "@bufbuild/protobuf";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import {
  AssistantMessageSchema,
  ChatChoiceSchema,
  ChatDeltaSchema,
  ToolCallDeltaSchema,
  ToolCallSchema,
} from "@switchyard/proto/inference/v1/chat";
import type {
  AssistantMessage,
  ChatChoice,
  ChatDelta,
  ToolCall,
  ToolCallDelta,
} from "@switchyard/proto/inference/v1/chat";
import type { CallNumbers } from "./call-numbers.ts";
import { countOf, filled, objectOf, objectsOf, present, textOf, unreadable, without } from "./json.ts";

/** Servers name thoughts either way; some say the same twice. */
const NAMED = new Set(["role", "content", "tool_calls", "refusal", "reasoning", "reasoning_content"]);
const OF_CHOICE = new Set(["index", "message", "delta", "finish_reason"]);
const OF_CALL = new Set(["index", "id", "type", "function"]);
/** `obfuscation` is padding. */
const OF_ANSWER = new Set(["id", "object", "created", "model", "choices", "usage", "obfuscation"]);

/** The choices of a whole answer. Throws a ConnectError for what is no chat completion. */
export function readChoices(answer: JsonObject): ChatChoice[] {
  if (!Array.isArray(answer["choices"])) throw unreadable("it has no choices");
  return objectsOf(answer["choices"]).map((choice, at) =>
    create(ChatChoiceSchema, {
      index: countOf(choice["index"]) ?? at,
      message: readMessage(objectOf(choice["message"]) ?? {}),
      finishReason: textOf(choice["finish_reason"]) ?? "",
      ...present({ extra: extraOf(choice, OF_CHOICE) }),
    }),
  );
}

/** What a whole answer or an event says beside its choices. */
export function readBeside(source: JsonObject): JsonObject | undefined {
  return extraOf(source, OF_ANSWER);
}

/** The deltas of one event of a stream, whose calls `numbers` counts; one that says nothing is left out. */
export function readDeltas(event: JsonObject, numbers: CallNumbers): ChatDelta[] {
  return objectsOf(event["choices"])
    .map((choice, at) => readDelta(choice, objectOf(choice["delta"]) ?? {}, at, numbers))
    .filter((delta) => delta !== undefined);
}

/** A whole answer as the deltas of a stream that says it at once. */
export function wholeAsDeltas(answer: JsonObject): ChatDelta[] {
  return readChoices(answer).map(({ index, message, finishReason, extra: choiceExtra }) => {
    const { content, toolCalls = [], refusal, reasoning, extra } = message ?? {};
    return create(ChatDeltaSchema, {
      index,
      toolCalls: toolCalls.map(({ id, name, arguments: text, extra: callExtra }, call) =>
        create(ToolCallDeltaSchema, {
          index: call,
          id,
          name,
          arguments: text,
          ...present({ extra: callExtra }),
        }),
      ),
      ...present({ content, refusal, reasoning, extra, choiceExtra }),
      ...(finishReason === "" ? {} : { finishReason }),
    });
  });
}

function readMessage(message: JsonObject): AssistantMessage {
  return create(AssistantMessageSchema, {
    toolCalls: objectsOf(message["tool_calls"]).map(readCall),
    ...said(message),
  });
}

function readDelta(
  choice: JsonObject,
  delta: JsonObject,
  at: number,
  numbers: CallNumbers,
): ChatDelta | undefined {
  const index = countOf(choice["index"]) ?? at;
  const finishReason = textOf(choice["finish_reason"]);
  const toolCalls = objectsOf(delta["tool_calls"]).map((call, place) => {
    const number = numbers.numberOf(index, countOf(call["index"]) ?? place, textOf(call["id"]));
    return readCallDelta(call, number);
  });
  const { content, ...more } = said(delta);
  // The role's event brings an empty text, which is none.
  const fields = {
    ...more,
    ...present({
      finishReason,
      content: content === "" ? undefined : content,
      choiceExtra: extraOf(choice, OF_CHOICE),
    }),
  };
  if (toolCalls.length === 0 && Object.keys(fields).length === 0) return undefined;
  return create(ChatDeltaSchema, { index, toolCalls, ...fields });
}

function said(message: JsonObject) {
  const { text, thoughts, rest } = contentOf(message["content"]);
  const extra = { ...rest, ...without(message, NAMED) };
  return present({
    content: text,
    refusal: textOf(message["refusal"]),
    reasoning: textOf(message["reasoning"]) ?? textOf(message["reasoning_content"]) ?? thoughts,
    extra: Object.keys(extra).length > 0 ? extra : undefined,
  });
}

interface Content {
  readonly text: string | undefined;
  readonly thoughts?: string | undefined;
  /** The content as it came, where it holds what has no field. */
  readonly rest?: JsonObject | undefined;
}

/** Some servers answer in parts; their texts are the content, and Mistral's thoughts are such parts too. */
function contentOf(content: JsonValue | undefined): Content {
  if (!Array.isArray(content)) return { text: textOf(content) };
  const parts = objectsOf(content);
  const thoughts = parts.filter(({ type }) => type === "thinking");
  const others = parts.some((part) => part["type"] !== "thinking" && textOf(part["text"]) === undefined);
  return {
    text: textsOf(parts),
    thoughts:
      thoughts.length === 0 ? undefined : thoughts.map(({ thinking }) => thoughtOf(thinking)).join(""),
    rest: others ? without({ content }, new Set()) : undefined,
  };
}

function thoughtOf(thinking: JsonValue | undefined): string {
  return textOf(thinking) ?? textsOf(objectsOf(thinking));
}

function textsOf(parts: readonly JsonObject[]): string {
  return parts.map((part) => textOf(part["text"]) ?? "").join("");
}

function readCall(call: JsonObject): ToolCall {
  const asked = objectOf(call["function"]) ?? {};
  return create(ToolCallSchema, {
    id: textOf(call["id"]) ?? "",
    name: textOf(asked["name"]) ?? "",
    arguments: argumentsOf(asked["arguments"]) ?? "",
    ...present({ extra: extraOf(call, OF_CALL) }),
  });
}

function readCallDelta(call: JsonObject, index: number): ToolCallDelta {
  const asked = objectOf(call["function"]) ?? {};
  return create(ToolCallDeltaSchema, {
    index,
    ...present({
      id: textOf(call["id"]),
      name: textOf(asked["name"]),
      arguments: argumentsOf(asked["arguments"]),
      extra: extraOf(call, OF_CALL),
    }),
  });
}

/** Some servers send the object itself. */
function argumentsOf(value: JsonValue | undefined): string | undefined {
  const object = objectOf(value);
  return object === undefined ? textOf(value) : JSON.stringify(object);
}

function extraOf(object: JsonObject, names: ReadonlySet<string>): JsonObject | undefined {
  return filled(without(object, names));
}

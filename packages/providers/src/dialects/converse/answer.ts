import { isJsonList, isJsonObject, parseJson } from "../../json/lossless.ts";
import type { AnswerReading } from "../answer.ts";
import { converseUsage } from "../usage.ts";

/** Judges an answer of `converse`. One without content serves when it says why it stopped. It names no model. */
export function readConverseAnswer(bytes: Uint8Array): AnswerReading {
  const body = parseJson(bytes);
  if (!isJsonObject(body)) return { kind: "invalid", reason: "not a JSON object" };
  const { output, usage } = body;
  const message = isJsonObject(output) ? output["message"] : undefined;
  if (!isJsonObject(message)) {
    const isError = ["message", "Message", "__type", "error"].some((key) => Object.hasOwn(body, key));
    return isError ? { kind: "error" } : { kind: "invalid", reason: "no message" };
  }
  const hasContent = isJsonList(message["content"]) && message["content"].length > 0;
  if (!hasContent && typeof body["stopReason"] !== "string") return { kind: "invalid", reason: "no content" };
  return { kind: "usable", model: undefined, usage: converseUsage(usage) };
}

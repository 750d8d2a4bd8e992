import { AnswerWatch } from "../dialects/answer-watch.ts";
import type { ProviderRequest } from "../families/family.ts";
import { isJsonType, type NativeCall } from "../request/native-facts.ts";
import { rewriteBody } from "../request/rewrite.ts";
import type { ExchangeInput } from "./exchange.ts";

/** What to send to a provider on a native endpoint; whatever it answers is the caller's answer. */
export interface NativePlan {
  readonly request: ProviderRequest;
  /** Looks on as the answer passes; `type` is its content type, without parameters. */
  readonly watch: (type: string | undefined) => AnswerWatch;
}

/**
 * Plans a call of a native endpoint (P1): its bytes as they came but for the `model` that they name. A body that names none, or can't be
 * read, goes as it is, with the content type that its caller gave it.
 */
export function planNative(
  input: Pick<
    ExchangeInput,
    "family" | "account" | "model" | "facts" | "body" | "query" | "secret" | "callerHeaders"
  >,
  { path, fault }: NativeCall,
): NativePlan {
  const { facts, model } = input;
  const body =
    fault === undefined
      ? rewriteBody(input.body, facts, { model, askUsage: false, addsNoModel: true })
      : input.body;
  const request = input.family.buildRequest({
    ...input,
    endpoint: "native",
    nativePath: path,
    stream: facts.stream,
    body,
  });
  const given = valueOf(input.callerHeaders, "content-type");
  // What could be read is JSON, as families say, whatever a caller calls it that says none of JSON's names.
  const isKept = given !== undefined && (fault !== undefined || isJsonType(given));
  const headers = isKept ? withContentType(request.headers, given) : request.headers;
  return { request: { ...request, headers }, watch: (type) => new AnswerWatch(type) };
}

function withContentType(headers: readonly string[], given: string): readonly string[] {
  return headers.map((text, place) =>
    place % 2 === 1 && headers[place - 1] === "content-type" ? given : text,
  );
}

function valueOf(headers: readonly string[], name: string): string | undefined {
  const place = headers.findIndex((text, at) => at % 2 === 0 && text.toLowerCase() === name);
  return place < 0 ? undefined : headers[place + 1];
}

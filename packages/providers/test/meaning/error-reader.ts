import { type Fields, fields, list, parseOrText, text } from "./values.ts";

/** What an error says; empty where it does not. */
export interface ErrorMeaning {
  readonly message: string;
  readonly type: string;
  readonly code: string;
  readonly param: string;
}

/** Reads an error of any provider, each in its vendor's published form. */
export function readError(body: string): ErrorMeaning {
  const whole = fields(parseOrText(body));
  const inner = typeof whole["error"] === "string" ? { message: whole["error"] } : fields(whole["error"]);
  const error = fields(vendors(inner) ?? ("error" in whole ? inner : whole));
  return {
    message: messageOf(error),
    type: typeOf(error),
    code: text(error["code"]) || text(error["status"]),
    param: text(error["param"]),
  };
}

/** OpenRouter repeats the answer of the vendor, as text. */
function vendors(error: Fields): unknown {
  const raw = text(fields(error["metadata"])["raw"]);
  const parsed = fields(parseOrText(raw));
  return "error" in parsed ? parsed["error"] : undefined;
}

/** FastAPI's servers (Mistral's, vLLM's) say `detail`. */
function messageOf(error: Fields): string {
  const details = list(error["detail"]).map((one) => text(fields(one)["msg"]));
  return text(error["message"]) || text(error["detail"]) || details.join("; ");
}

/** `error` says that it is one, and names no kind. */
function typeOf(error: Fields): string {
  const type = text(error["type"]);
  return type === "error" ? "" : type;
}

import { describe, expect, it } from "vitest";
import { envelopeFaults } from "./envelope.ts";
import { type Pair, pairs } from "./recorded.ts";
import { fields, parse, parseOrText, sseEvents, text } from "./values.ts";

const ANSWERS = pairs().pairs.filter(({ status, verdict }) => status === 200 && verdict !== "cut");
const PLAIN = ANSWERS.filter(({ stream }) => !stream);

describe("bodies are whole by the descriptions of their APIs", () => {
  it.each(PLAIN)("P2: $name in $dialect", ({ dialect, golden }) => {
    expect(envelopeFaults(dialect, fields(parse(golden)))).toEqual([]);
  });

  it.each(ANSWERS.filter(({ stream, dialect }) => stream && dialect === "responses"))(
    "BH-32: $name, the last event's response",
    ({ golden }) => {
      const last = fields(parse(sseEvents(golden).at(-1)?.data ?? "null"));
      expect(envelopeFaults("responses", fields(last["response"]))).toEqual([]);
    },
  );

  it.each(ANSWERS.filter(({ dialect }) => dialect !== "responses"))(
    "P2: $name in $dialect has the provider's id, or the request's",
    (pair) => {
      expect(goldenId(pair)).toBe(providersId(pair.recorded.body) ?? "req_1");
    },
  );
});

function goldenId({ golden, stream }: Pair): unknown {
  const first = fields(parse(stream ? (sseEvents(golden)[0]?.data ?? "null") : golden));
  return first["id"] ?? fields(first["message"])["id"];
}

/** Of a body, or of the event in which it first stands. */
function providersId(body: Uint8Array): string | undefined {
  const whole = new TextDecoder().decode(body);
  const bodies = [whole, ...sseEvents(whole).map(({ data }) => data)].map((json) =>
    fields(parseOrText(json)),
  );
  const ids = bodies.map((one) => text(one["id"] ?? one["responseId"] ?? fields(one["message"])["id"]));
  return ids.find((id) => id !== "");
}

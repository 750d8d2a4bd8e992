import { eventually } from "@switchyard/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { aiChat, aiMessages } from "../support/clients/ai-sdk.ts";
import { anthropicMessages } from "../support/clients/anthropic-messages.ts";
import type { Client, Thrown, Wish } from "../support/clients/client.ts";
import { openAiChat } from "../support/clients/openai-chat.ts";
import { openAiResponses } from "../support/clients/openai-responses.ts";
import { FORMS } from "../support/gateway-form.ts";
import { FAMILIES, startMatrix } from "../support/vendors/families.ts";
import type { Matrix, Served } from "../support/vendors/families.ts";
import { CALLS, DONE_TEXT, OBJECT, SEEN_TEXT, TEXT, THOUGHT } from "../support/vendors/model.ts";
import type { Feature } from "../support/vendors/model.ts";
import { MESSAGES, USED } from "../support/vendors/vendor.ts";
import type { Mistake } from "../support/vendors/vendor.ts";

const CLIENTS: readonly Client[] = [openAiChat, openAiResponses, anthropicMessages, aiChat, aiMessages];
const TEXTS: Readonly<Partial<Record<Feature, string>>> = {
  chat: TEXT,
  tools: DONE_TEXT,
  structured: OBJECT,
  image: SEEN_TEXT,
  thinking: DONE_TEXT,
};
const MISTAKES = {
  rate_limited: { status: [429], thrown: /^RateLimitError$/u },
  overloaded: { status: [503, 529], thrown: /^(InternalServer|ServiceUnavailable|Overloaded)Error$/u },
  invalid_request: { status: [400], thrown: /^BadRequestError$/u },
  context_length: { status: [400], thrown: /^BadRequestError$/u },
} as const satisfies Record<Mistake, object>;

const CELLS = FAMILIES.flatMap((family) => CLIENTS.map((client) => [family, client] as const));
const named = ([family, client]: readonly [Served, Client]): [string, string, Served, Client] => [
  client.name,
  family.name,
  family,
  client,
];

for (const form of FORMS) {
  describe(`clients on every family [${form}]`, () => {
    let matrix: Matrix;
    beforeAll(async () => {
      matrix = await startMatrix(form);
    }, 60_000);
    afterAll(() => matrix[Symbol.asyncDispose]());
    const wish = ({ name }: Served, feature: Feature, stream: boolean): Wish => ({
      http: matrix.http,
      key: matrix.key,
      model: name,
      feature,
      stream,
    });
    const features = Object.keys(TEXTS) as Feature[];
    // The services are the same in both forms: apart, one feature shows that the bytes survive the way between them.
    const shown = (form === "one-process" ? features : (["thinking"] as const)).flatMap((feature) =>
      (form === "one-process" ? [false, true] : [true]).map((stream) => [feature, stream] as const),
    );

    describe.each(CELLS.map(named))("%s on %s", (_client, _family, family, client) => {
      it.concurrent.for(shown)("P2: %s, stream %s", async ([feature, stream]) => {
        const heard = await client.talk(wish(family, feature, stream));
        const called = feature === "tools" || feature === "thinking";
        expect(heard).toEqual({
          text: TEXTS[feature],
          thinking: feature === "thinking" ? THOUGHT : "",
          calls: called ? CALLS.map(({ name, args }) => ({ name, args: JSON.parse(args) as unknown })) : [],
          finish: called ? "tool_calls" : "stop",
          usage: { input: USED.input, cached: USED.cached, output: USED.output },
        });
      });

      if (form === "four-processes") return;

      it.concurrent.for(Object.keys(MISTAKES) as Mistake[])("P5: %s", async (mistake) => {
        for (const stream of [false, true]) {
          const thrown = await client.talk(wish(family, mistake, stream)).then(
            () => expect.unreachable(),
            (error: unknown) => client.read(error),
          );
          expectMistake(thrown, mistake, client, family);
        }
      });

      it.concurrent("BH-18: leaves, and the vendor is left", async () => {
        const before = matrix.vendor(family.name).calls.length;
        await client.leave(wish(family, "abort", true)).catch(() => undefined);
        await eventually(() => {
          const calls = matrix.vendor(family.name).calls.filter(({ body }) => body.includes('"abort"'));
          expect(calls.length).toBeGreaterThan(0);
          expect(calls.every(({ abandoned }) => abandoned)).toBe(true);
        });
        expect(matrix.vendor(family.name).calls.length).toBeGreaterThan(before);
      });
    });
  });
}

function expectMistake(thrown: Thrown, mistake: Mistake, client: Client, family: Served): void {
  const wanted = MISTAKES[mistake];
  expect(wanted.status).toContain(thrown.status);
  expect(thrown.thrown).toMatch(client.name.startsWith("ai,") ? "AI_APICallError" : wanted.thrown);
  expect(thrown.headers["x-ants-attempts"]).toContain(`"error":"${mistake}"`);
  if (mistake !== "context_length") expect(thrown.message).toContain(MESSAGES[mistake]);
  if (mistake === "rate_limited" && family.paths.every(([, vendor]) => vendor.tellsWait))
    expect(thrown.headers["retry-after"]).toBe("3");
  const message = expect.any(String) as string;
  const type = expect.any(String) as string;
  const body = { error: { message, type } };
  expect(thrown.body).toMatchObject(client.dialect === "messages" ? { type: "error", ...body } : body);
  if (client.dialect !== "messages") expect((thrown.body as { error: object }).error).toHaveProperty("code");
}

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, jsonSchema, Output, stepCountIs, streamText } from "ai";
import { PNG, RESULTS, SCHEMA, SYSTEM, TOOL_SCHEMAS } from "../vendors/model.ts";
import { promptOf, usesTools } from "./client.ts";
import type { Client, Thrown, Wish } from "./client.ts";

type Options = Parameters<typeof generateText>[0];
type Model = Options["model"];
type ProviderOptions = NonNullable<Options["providerOptions"]>;

function client(
  name: string,
  dialect: Client["dialect"],
  echoes: boolean,
  modelOf: (wish: Wish) => Model,
  own: (wish: Wish) => ProviderOptions,
): Client {
  const optionsOf = (wish: Wish): Options => ({
    model: modelOf(wish),
    system: SYSTEM,
    messages: [
      {
        role: "user",
        content: [
          ...(wish.feature === "image"
            ? [{ type: "image" as const, image: Buffer.from(PNG, "base64"), mediaType: "image/png" }]
            : []),
          { type: "text", text: promptOf(wish, echoes) },
        ],
      },
    ],
    maxRetries: 0,
    providerOptions: own(wish),
    stopWhen: stepCountIs(3),
    ...(usesTools(wish) ? { tools: TOOLS } : {}),
    ...(wish.feature === "structured"
      ? { output: Output.object({ schema: jsonSchema<{ city: string; n: number }>(SCHEMA), name: "place" }) }
      : {}),
  });
  return {
    name,
    dialect,
    echoes,
    talk: async (wish) => {
      const options = optionsOf(wish);
      const done = wish.stream ? await streamed(options) : await generateText(options);
      const [first] = done.steps;
      return {
        text: done.text,
        thinking: first?.reasoningText ?? "",
        calls: (first?.toolCalls ?? []).map(({ toolName, input }) => ({
          name: toolName,
          args: input as unknown,
        })),
        finish: (first?.finishReason ?? "").replace("-", "_"),
        usage: {
          input: first?.usage.inputTokens ?? 0,
          cached: first?.usage.inputTokenDetails.cacheReadTokens ?? 0,
          output: first?.usage.outputTokens ?? 0,
        },
      };
    },
    leave: async (wish) => {
      const abort = new AbortController();
      const { textStream } = streamText({ ...optionsOf(wish), abortSignal: abort.signal });
      for await (const piece of textStream) if (piece !== "") abort.abort();
    },
    read,
  };
}

const TOOLS = Object.fromEntries(
  Object.entries(TOOL_SCHEMAS).map(([name, schema]) => [
    name,
    {
      inputSchema: jsonSchema<object>(schema as unknown as Parameters<typeof jsonSchema>[0]),
      execute: () => Promise.resolve(RESULTS[name] ?? ""),
    },
  ]),
);

async function streamed(
  options: Options,
): Promise<Pick<Awaited<ReturnType<typeof generateText>>, "text" | "steps">> {
  let failure: unknown;
  const result = streamText({ ...options, onError: ({ error }) => void (failure ??= error) });
  await result.consumeStream();
  if (failure !== undefined) throw failure;
  return { text: await result.text, steps: await result.steps };
}

function read(error: unknown): Thrown {
  if (!APICallError.isInstance(error)) throw error;
  return {
    thrown: error.name,
    status: error.statusCode,
    message: error.message,
    headers: error.responseHeaders ?? {},
    body: JSON.parse(error.responseBody ?? "null") as unknown,
  };
}

/** `ai` with `@ai-sdk/openai-compatible`, which gives no signed thinking back. */
export const aiChat: Client = client(
  "ai, openai-compatible",
  "chat",
  false,
  ({ http, key, model }) =>
    createOpenAICompatible({
      name: "switchyard",
      baseURL: `${http}/v1`,
      apiKey: key,
      includeUsage: true,
      supportsStructuredOutputs: true,
    })(model),
  ({ feature }) => (feature === "thinking" ? { switchyard: { reasoningEffort: "low" } } : {}),
);

/** `ai` with `@ai-sdk/anthropic`. */
export const aiMessages: Client = client(
  "ai, anthropic",
  "messages",
  true,
  ({ http, key, model }) => createAnthropic({ baseURL: `${http}/v1`, apiKey: key })(model),
  ({ feature }) => ({
    anthropic: {
      structuredOutputMode: "outputFormat",
      ...(feature === "thinking" ? { thinking: { type: "enabled", budgetTokens: 2000 } } : {}),
    },
  }),
);

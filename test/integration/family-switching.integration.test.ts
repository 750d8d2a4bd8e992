import Anthropic from "@anthropic-ai/sdk";
import { failure } from "@switchyard/testkit";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FAMILIES, POOL, startMatrix } from "../support/vendors/families.ts";
import type { Matrix } from "../support/vendors/families.ts";
import { CALLS, SYSTEM, TOOL_SCHEMAS } from "../support/vendors/model.ts";
import { Refused } from "../support/vendors/vendor.ts";
import type { Said } from "../support/vendors/vendor.ts";

const TOOLS = Object.entries(TOOL_SCHEMAS);
const TURNS = 4;
/** Who serves messages there is not Claude, and looks at no signature; the script acts as Claude. */
const NOT_CLAUDE = "openrouter";

/** A client with its conversation. */
interface Talk {
  say(text: string): void;
  /** Asks, keeps the answer, and gives results to its calls; the calls' names. */
  ask(stream: boolean): Promise<readonly string[]>;
}

function chatTalk(http: string, apiKey: string): Talk {
  const client = new OpenAI({ baseURL: `${http}/v1`, apiKey, maxRetries: 0 });
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "system", content: SYSTEM }];
  const tools = TOOLS.map(([name, parameters]) => ({
    type: "function" as const,
    function: { name, parameters },
  }));
  return {
    say: (content) => void messages.push({ role: "user", content }),
    ask: async (stream) => {
      const body = { model: POOL, messages, tools, reasoning_effort: "low" as const };
      const said = stream
        ? await client.chat.completions.stream(body).finalMessage()
        : (await client.chat.completions.create(body)).choices[0]?.message;
      if (said === undefined) throw new Error("no message");
      messages.push(said);
      const calls = (said.tool_calls ?? []).filter((call) => call.type === "function");
      for (const { id } of calls) messages.push({ role: "tool", tool_call_id: id, content: "r" });
      return calls.map((call) => call.function.name);
    },
  };
}

function messagesTalk(http: string, authToken: string): Talk {
  const client = new Anthropic({ baseURL: http, authToken, apiKey: null, maxRetries: 0 });
  const messages: Anthropic.MessageParam[] = [];
  const tools = TOOLS.map(([name, schema]) => ({
    name,
    input_schema: schema as unknown as Anthropic.Tool.InputSchema,
  }));
  return {
    say: (content) => void messages.push({ role: "user", content }),
    ask: async (stream) => {
      const thinking = { type: "enabled" as const, budget_tokens: 1024 };
      const body = { model: POOL, max_tokens: 9000, system: SYSTEM, messages, tools, thinking };
      const said = stream
        ? await client.messages.stream(body).finalMessage()
        : await client.messages.create(body);
      messages.push({ role: "assistant", content: said.content });
      const calls = said.content.filter((block) => block.type === "tool_use");
      const results = calls.map(({ id }) => ({
        type: "tool_result" as const,
        tool_use_id: id,
        content: "r",
      }));
      if (results.length > 0) messages.push({ role: "user", content: results });
      return calls.map(({ name }) => name);
    },
  };
}

function responsesTalk(http: string, apiKey: string): Talk {
  const client = new OpenAI({ baseURL: `${http}/v1`, apiKey, maxRetries: 0 });
  const input: OpenAI.Responses.ResponseInputItem[] = [];
  const tools = TOOLS.map(([name, parameters]) => ({
    type: "function" as const,
    name,
    parameters: { ...parameters },
    strict: false,
  }));
  return {
    say: (content) => void input.push({ role: "user", content }),
    ask: async (stream) => {
      const body = {
        model: POOL,
        instructions: SYSTEM,
        input,
        tools,
        store: false,
        reasoning: { effort: "low" as const },
        include: ["reasoning.encrypted_content" as const],
      };
      const { output } = stream
        ? await client.responses.stream(body).finalResponse()
        : await client.responses.create(body);
      input.push(...(output as OpenAI.Responses.ResponseInputItem[]));
      const calls = output.flatMap((item) => (item.type === "function_call" ? [item] : []));
      for (const { call_id } of calls) input.push({ type: "function_call_output", call_id, output: "r" });
      return calls.map(({ name }) => name);
    },
  };
}

describe("a conversation that another family serves at every turn", () => {
  let matrix: Matrix;
  let serving = "";
  let turn = 0;

  /** Models but Claude may write nothing but white space before calls, which Claude refuses to read. */
  const answerOf = (isTold: boolean, model: string): Said => {
    if (isTold) return { text: `done ${turn}` };
    const calls = CALLS.map((call) => ({ ...call, id: `call_${turn}_${call.name}` }));
    return { thinking: `hm ${turn}`, text: model.includes("claude") ? "so" : "\n\n", calls };
  };

  beforeAll(async () => {
    matrix = await startMatrix("one-process");
    for (const family of FAMILIES) {
      matrix.vendor(family.name).answer((call) => {
        const vendor = family.paths.find(([path]) => path.test(call.path))?.[1];
        if (vendor === undefined || family.name !== serving) return failure(503, { message: "away" });
        turn += 1;
        try {
          const hasResults =
            vendor
              .read(call)
              .turns.at(-1)
              ?.parts.some(({ kind }) => kind === "result") === true;
          return vendor.say(answerOf(hasResults, family.model), call);
        } catch (error) {
          return vendor.fail(
            "invalid_request",
            `${family.name}: ${error instanceof Refused ? error.message : String(error)}`,
          );
        }
      });
    }
  }, 60_000);
  afterAll(() => matrix[Symbol.asyncDispose]());

  const talks = { chat: chatTalk, messages: messagesTalk, responses: responsesTalk };
  const runs = (Object.keys(talks) as (keyof typeof talks)[]).flatMap((dialect) =>
    [false, true].flatMap((stream) => [1, 2, 3, 5, 7].map((step) => [dialect, stream, step] as const)),
  );

  it.each(runs)("issue 4, item 7: %s, stream %s, by every %i.", async (dialect, stream, step) => {
    const families = FAMILIES.filter(({ name }) => dialect !== "messages" || name !== NOT_CLAUDE);
    const talk = talks[dialect](matrix.http, matrix.key);
    let place = step;
    const next = async (): Promise<readonly string[]> => {
      place += step;
      serving = families[place % families.length]?.name ?? "";
      return talk.ask(stream);
    };
    for (let count = 0; count < TURNS; count += 1) {
      talk.say(`question ${count}`);
      expect(await next()).toEqual(CALLS.map(({ name }) => name));
      expect(await next()).toEqual([]);
    }
  });
});

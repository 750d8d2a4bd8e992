import { create } from "@bufbuild/protobuf";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Role } from "@switchyard/proto/inference/v1/chat";
import type { ChatParametersSchema } from "@switchyard/proto/inference/v1/chat";
import {
  ChatRequestSchema,
  InferenceService,
  StreamChatRequestSchema,
} from "@switchyard/proto/inference/v1/inference_service";
import type {
  ChatRequest,
  StreamChatRequest,
  StreamChatResponse,
} from "@switchyard/proto/inference/v1/inference_service";
import { type CallContext, Code, ConnectError, readStream } from "@switchyard/rpc";
import {
  BROKEN,
  CH,
  DONE,
  eventually,
  failure,
  HANG,
  json,
  NEXT,
  ROLE,
  RST,
  SILENT,
  sse,
  USAGE,
  wait,
} from "@switchyard/testkit";
import { expect } from "vitest";
import { as, caught, expectInfo, infoOf } from "../contract-case.ts";
import type { ContractCase, MethodContract } from "../contract-case.ts";
import { KEYS } from "../stage.ts";
import type { Clients } from "../transports.ts";

type Parameters = MessageInitShape<typeof ChatParametersSchema>;

const asked = (more: Parameters = {}): Parameters => ({
  model: "chat",
  messages: [{ role: Role.USER, content: { case: "text", value: "hi" } }],
  ...more,
});
const chatting = (more?: Parameters): ChatRequest => create(ChatRequestSchema, { parameters: asked(more) });
const streaming = (more?: Parameters): StreamChatRequest =>
  create(StreamChatRequestSchema, { parameters: asked(more) });

/** A deadline that the provider is still reached within on a busy machine. */
const SOON_MS = 400;
export const BAD_TOOL = failure(400, {
  message: "bad tool",
  type: "invalid_request_error",
  code: "bad_tool",
});
const FUNCTION = { name: "look", arguments: '{"at":1}' };

/** What cannot be asked, and the field that the refusal names. */
const BROKEN_RULES: [Parameters, string][] = [
  [{ model: "" }, "parameters.model"],
  [{ messages: [] }, "parameters.messages"],
  [{ messages: [{}] }, "parameters.messages[0].role"],
  [{ topP: 2 }, "parameters.top_p"],
  [{ temperature: Number.NaN }, "parameters.temperature"],
  [{ toolChoice: { choice: { case: "mode", value: "maybe" } } }, "parameters.tool_choice.mode"],
];

/** A refusal that names the field. */
export const expectBroken = (error: ConnectError | undefined, field: string): void => {
  expect([error?.code, error?.rawMessage]).toEqual([Code.InvalidArgument, expect.stringContaining(field)]);
};

const chatCases: ContractCase[] = [
  {
    title: "a whole answer with its usage, its cost and who served",
    run: async ({ inference }, { a }) => {
      const got = await inference.chat(chatting({ maxTokens: 9n, extra: { top_k: 3 } }), as(KEYS.caller));
      expect(got).toMatchObject({
        id: "c1",
        model: "up-model",
        choices: [{ index: 0, message: { content: "a", toolCalls: [] }, finishReason: "stop" }],
        usage: { input: 3n, output: 2n },
        deployment: "a/m-a",
        group: "chat",
        attempts: [{ deployment: "a/m-a", outcome: "ok", status: 200 }],
      });
      expect(got.costUsd).toBeCloseTo(7e-6, 12);
      expect(a.calls[0]?.json()).toEqual({
        model: "m-a",
        messages: [{ role: "user", content: "hi" }],
        max_tokens: 9,
        top_k: 3,
      });
    },
  },
  {
    title: "each kind of token that a provider counts apart is told",
    run: async ({ inference }, { a }) => {
      const usage = {
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 5, audio_tokens: 20 },
        completion_tokens_details: { reasoning_tokens: 10, audio_tokens: 30 },
      };
      const choices = [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }];
      a.answer(json(200, { id: "c1", model: "m", choices, usage }));
      const got = await inference.chat(chatting({}), as(KEYS.caller));
      expect(got.usage).toMatchObject({
        input: 100n,
        output: 50n,
        cached: 40n,
        cacheWritten: 5n,
        audioInput: 20n,
        reasoning: 10n,
        audioOutput: 30n,
      });
      expect(got.costUsd).toBeCloseTo(200e-6, 12);
    },
  },
  {
    title: "calls of tools come typed",
    run: async ({ inference }, { a }) => {
      const message = {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "t1", type: "function", function: FUNCTION }],
      };
      a.answer(json(200, { id: "c1", choices: [{ index: 0, message, finish_reason: "tool_calls" }] }));
      const tools = [{ name: "look", parameters: { type: "object" } }];
      const { choices } = await inference.chat(chatting({ tools }), as(KEYS.caller));
      expect(choices).toMatchObject([
        { message: { toolCalls: [{ id: "t1", ...FUNCTION }] }, finishReason: "tool_calls" },
      ]);
      expect(choices[0]?.message?.content).toBeUndefined();
    },
  },
  {
    title: "E3, H1: fails over, and tells of every attempt",
    run: async ({ inference }, { a }) => {
      a.answer(BROKEN);
      const { attempts, deployment } = await inference.chat(chatting(), as(KEYS.caller));
      expect(deployment).toBe("b/m-b");
      expect(attempts.map((one) => [one.deployment, one.outcome === "ok", one.status])).toEqual([
        ["a/m-a", false, 500],
        ["b/m-b", true, 200],
      ]);
    },
  },
  {
    title: "E7: a provider's error is an RPC error with its code, status and attempts",
    run: async ({ inference }, { a }) => {
      a.answer(BAD_TOOL);
      const error = await caught(() => inference.chat(chatting({ model: "solo" }), as(KEYS.caller)));
      expect([error.code, error.rawMessage]).toEqual([Code.InvalidArgument, "bad tool"]);
      expectInfo(error, "bad_tool", 400);
      expect(infoOf(error).metadata["attempts"]).toContain("a/m-a");
    },
  },
  {
    title: "what Switchyard refuses keeps its code",
    run: async ({ inference }) => {
      expectInfo(await caught(() => inference.chat(chatting(), as("nobody"))), "invalid_api_key", 401);
      const forbidden = await caught(() => inference.chat(chatting({ model: "solo" }), as(KEYS.narrow)));
      expectInfo(forbidden, "model_not_allowed", 403);
    },
  },
  {
    title: "a broken rule of the schema is named by its field",
    on: "wire",
    run: async ({ inference }) => {
      for (const [more, field] of BROKEN_RULES) {
        expectBroken(await caught(() => inference.chat(chatting(more), as(KEYS.caller))), field);
      }
      const empty = create(ChatRequestSchema);
      expectBroken(await caught(() => inference.chat(empty, as(KEYS.caller))), "parameters");
    },
  },
  {
    title: "BH-18: a caller that leaves ends the provider's socket",
    run: async ({ inference }, { a }) => {
      a.answer(SILENT);
      const call = as(KEYS.caller);
      const done = caught(() => inference.chat(chatting(), call));
      await a.waitForCalls(1);
      call.cancel();
      expect((await done).code).toBe(Code.Canceled);
      await eventually(() => expect(a.calls[0]?.closedHow).toBe("client"));
    },
  },
  {
    title: "the caller's deadline bounds the attempt",
    run: async ({ inference }, { a, b }) => {
      a.answer(SILENT);
      b.answer(SILENT);
      const soon = as(KEYS.caller, Date.now() + SOON_MS);
      expect((await caught(() => inference.chat(chatting(), soon))).code).toBe(Code.DeadlineExceeded);
      await eventually(() => expect(a.calls[0]?.closedHow).toBe("client"));
    },
  },
];

type Part = StreamChatResponse["part"];

function start(
  { inference }: Clients,
  request: StreamChatRequest,
  call: CallContext,
): AsyncGenerator<StreamChatResponse> {
  return readStream<StreamChatResponse>((sink) => inference.streamChat(request, sink, call), {
    onLeave: () => call.cancel(),
  });
}

async function stream(
  clients: Clients,
  request: StreamChatRequest,
  call = as(KEYS.caller),
): Promise<{ parts: Part[]; error: ConnectError | undefined }> {
  const parts: Part[] = [];
  try {
    for await (const { part } of start(clients, request, call)) parts.push(part);
  } catch (error) {
    if (error instanceof ConnectError) return { parts, error };
    throw error;
  }
  return { parts, error: undefined };
}

const BEGUN = [ROLE, CH({ content: "first" })];
const CALL = (more: object): string => CH({ tool_calls: [{ index: 0, ...more }] });

const streamCases: ContractCase[] = [
  {
    title: "a start, deltas in order, an end with usage and cost",
    run: async (clients, { a }) => {
      const texts = [CH({ content: "he" }), NEXT, CH({ content: "llo", reasoning_content: "hm" })];
      a.answer(sse([ROLE, NEXT, ...texts, CH({}, "stop"), USAGE(3, 2), DONE]));
      const { parts, error } = await stream(clients, streaming());
      expect(error).toBeUndefined();
      expect(parts).toMatchObject([
        {
          case: "start",
          value: { id: "c1", model: "up-model", attempts: [{ deployment: "a/m-a", outcome: "ok" }] },
        },
        { case: "delta", value: { index: 0, content: "he" } },
        { case: "delta", value: { index: 0, content: "llo", reasoning: "hm" } },
        { case: "delta", value: { finishReason: "stop" } },
        {
          case: "end",
          value: { usage: { input: 3n, output: 2n }, deployment: "a/m-a", group: "chat", model: "up-model" },
        },
      ]);
      const end = parts.at(-1);
      expect(end?.case === "end" ? end.value.costUsd : undefined).toBeCloseTo(7e-6, 12);
      expect(a.calls[0]?.json()).toMatchObject({ stream: true });
    },
  },
  {
    title: "calls of tools come in pieces",
    run: async (clients, { a }) => {
      const first = CALL({ id: "t1", type: "function", function: { name: "look", arguments: "" } });
      const more = ['{"at"', ":1}"].map((text) => CALL({ function: { arguments: text } }));
      a.answer(sse([ROLE, first, ...more, CH({}, "tool_calls"), DONE]));
      const { parts } = await stream(clients, streaming());
      const calls = parts.flatMap((part) => (part.case === "delta" ? part.value.toolCalls : []));
      expect(calls).toMatchObject([{ index: 0, id: "t1", name: "look" }, { index: 0 }, { index: 0 }]);
      expect(calls.map((call) => call.arguments).join("")).toBe('{"at":1}');
    },
  },
  {
    title: "E7: a provider's error is an RPC error before the start",
    run: async (clients, { a }) => {
      a.answer(BAD_TOOL);
      const { parts, error } = await stream(clients, streaming({ model: "solo" }));
      expect([parts, error?.code]).toEqual([[], Code.InvalidArgument]);
      expectInfo(error as ConnectError, "bad_tool", 400);
    },
  },
  {
    title: "what Switchyard refuses keeps its code",
    run: async (clients) => {
      const { parts, error } = await stream(clients, streaming(), as("nobody"));
      expect(parts).toEqual([]);
      expectInfo(error as ConnectError, "invalid_api_key", 401);
    },
  },
  {
    title: "a broken rule of the schema is named by its field",
    on: "wire",
    run: async (clients) => {
      for (const [more, field] of BROKEN_RULES) {
        expectBroken((await stream(clients, streaming(more))).error, field);
      }
    },
  },
  {
    title: "a stream that breaks ends with an RPC error",
    run: async (clients, { a }) => {
      a.answer(sse([...BEGUN, wait(30), RST]));
      const { parts, error } = await stream(clients, streaming());
      expect(parts.map((part) => part.case)).toEqual(["start", "delta"]);
      expectInfo(error as ConnectError, "upstream_invalid_response", 502);
    },
  },
  {
    title: "P5: an error that the provider tells in the middle is an RPC error in its words",
    run: async (clients, { a }) => {
      const busy = { error: { message: "busy now", type: "overloaded_error", code: "busy" } };
      a.answer(sse([...BEGUN, wait(30), `data: ${JSON.stringify(busy)}\n\n`, DONE]));
      const { parts, error } = await stream(clients, streaming());
      expect(parts.map((part) => part.case)).toEqual(["start", "delta"]);
      expect(error?.rawMessage).toBe("busy now");
      expectInfo(error as ConnectError, "busy", 502);
    },
  },
  {
    title: "BH-18: a caller that leaves in the middle ends the provider's socket",
    run: async (clients, { a }) => {
      a.answer(sse([...BEGUN, HANG]));
      const call = as(KEYS.caller);
      const parts = start(clients, streaming(), call);
      expect((await parts.next()).value?.part.case).toBe("start");
      call.cancel();
      await eventually(() => expect(a.calls[0]?.closedHow).toBe("client"));
      await parts.return(undefined);
    },
  },
];

const { chat, streamChat } = InferenceService.method;

export const chatContract: MethodContract = { method: chat, cases: chatCases };
export const streamChatContract: MethodContract = { method: streamChat, cases: streamCases };

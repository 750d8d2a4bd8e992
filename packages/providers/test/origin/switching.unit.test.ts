import { describe, expect, it } from "vitest";
import type { FamilyName } from "../../src/families/capabilities.ts";
import type { BodyFacts } from "../../src/request/facts.ts";
import { originOf } from "../../src/origin/origin-mark.ts";
import { answered, planOf, sent } from "../support/exchange.ts";

/** Who serves a turn: the account's name tells it apart from others of its family. */
interface Server {
  readonly family: FamilyName;
  readonly account: string;
  readonly model: string;
  /** What it speaks to the gateway. */
  readonly speaks: "messages" | "gemini" | "converse" | "chat";
}

const SIGNATURE = "EqoBCkgIARABGAIiQL2U";
const SKIPPED = "skip_thought_signature_validator";
const TOOL = { name: "f", input_schema: { type: "object" } };

const claude = (family: FamilyName, account = "a1", speaks: Server["speaks"] = "messages"): Server => ({
  family,
  account: `${family}-${account}`,
  model: "anthropic.claude-sonnet-4-5",
  speaks,
});
const gemini = (family: "gemini" | "vertex", account: string): Server => ({
  family,
  account: `${family}-${account}`,
  model: "gemini-3-flash",
  speaks: "gemini",
});
const kimi = (account: string): Server => ({
  family: "openai_compatible",
  account: `kimi-${account}`,
  model: "kimi-k3",
  speaks: "messages",
});
const chat: Server = { family: "openai_compatible", account: "chat-1", model: "qwen", speaks: "chat" };

const ANTHROPIC = claude("anthropic");
const BEDROCK = claude("bedrock", "a1", "converse");
const ROUTER = claude("openrouter");

/** A thought that is signed, and the call it led to, in the words of who serves. */
function answerOf({ speaks }: Server): object {
  if (speaks === "gemini") {
    const call = { functionCall: { name: "f", args: {} }, thoughtSignature: SIGNATURE };
    const parts = [{ thought: true, text: "hm" }, call];
    return { candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }] };
  }
  if (speaks === "converse") {
    const content = [
      { reasoningContent: { reasoningText: { text: "hm", signature: SIGNATURE } } },
      { toolUse: { toolUseId: "t1", name: "f", input: {} } },
    ];
    return { output: { message: { role: "assistant", content } }, stopReason: "tool_use" };
  }
  const content = [
    { type: "thinking", thinking: "hm", signature: SIGNATURE },
    { type: "tool_use", id: "t1", name: "f", input: {} },
  ];
  return { id: "m", type: "message", role: "assistant", model: "x", content, stop_reason: "tool_use" };
}

type Json = Record<string, unknown>;
type Endpoint = BodyFacts["endpoint"];

function planFor(endpoint: Endpoint, server: Server, body: object, shared: boolean) {
  const { family, model, account, speaks } = server;
  const isMessages = speaks === "messages" && family === "openai_compatible";
  return planOf(endpoint, family, body, {
    model,
    origin: { own: originOf(account), shared },
    ...(isMessages ? { account: { baseUrl: "https://h/v1", endpoints: ["messages"] } } : {}),
  });
}

const asked = {
  messages: { max_tokens: 9000, tools: [TOOL], thinking: { type: "enabled", budget_tokens: 2000 } },
  chat: { tools: [{ type: "function", function: { name: "f" } }], reasoning_effort: "low" },
  responses: { tools: [{ type: "function", name: "f" }], include: ["reasoning.encrypted_content"] },
} as const;

/** The history after that answer, with the call's result. */
function goneOn(endpoint: keyof typeof asked, answer: Json): object {
  const hi = { role: "user", content: "hi" };
  if (endpoint === "messages") {
    const content = answer["content"] as Json[];
    const id = content.find(({ type }) => type === "tool_use")?.["id"];
    const results = [{ type: "tool_result", tool_use_id: id, content: "r" }];
    return { messages: [hi, { role: "assistant", content }, { role: "user", content: results }] };
  }
  if (endpoint === "chat") {
    const { message } =
      (answer["choices"] as { message: Json & { tool_calls: { id: string }[] } }[])[0] ?? {};
    const result = { role: "tool", tool_call_id: message?.tool_calls[0]?.id, content: "r" };
    return { messages: [hi, message, result] };
  }
  const output = answer["output"] as Json[];
  const id = output.find(({ type }) => type === "function_call")?.["call_id"];
  return { input: [hi, ...output, { type: "function_call_output", call_id: id, output: "r" }] };
}

/** What `to` gets of a conversation whose last turn `from` served. */
function switched(endpoint: keyof typeof asked, from: Server, to: Server, shared = true): string {
  const first = { model: "g", ...asked[endpoint], ...(endpoint === "responses" ? { input: "hi" } : {}) };
  const body = endpoint === "responses" ? first : { ...first, messages: [{ role: "user", content: "hi" }] };
  const answer = answered(planFor(endpoint, from, body, shared), answerOf(from));
  return sent(planFor(endpoint, to, { ...first, ...goneOn(endpoint, answer) }, shared)).text;
}

const CALLERS = ["messages", "chat", "responses"] as const;
const name = ({ account }: Server): string => account;
const rows = (
  pairs: readonly (readonly [Server, Server])[],
  callers: readonly (keyof typeof asked)[] = CALLERS,
) =>
  callers.flatMap((caller) => pairs.map(([from, to]) => [caller, name(from), name(to), from, to] as const));

/** Platforms of Claude, each of which takes what the others signed. */
const CLAUDES = [ANTHROPIC, claude("anthropic", "a2"), claude("vertex"), claude("bedrock_mantle"), BEDROCK];

describe("issue 4, item 7: a conversation that another account goes on with", () => {
  it.each(rows(CLAUDES.flatMap((from) => CLAUDES.map((to) => [from, to] as const))))(
    "%s: from %s to %s Claude's signature goes along, and the thinking stands before the call",
    (caller, _from, _to, from, to) => {
      const text = switched(caller, from, to);
      expect(text.split(SIGNATURE)).toHaveLength(2);
      expect(text).not.toContain("sy1.");
      expect(text.indexOf(SIGNATURE)).toBeLessThan(text.indexOf("t1"));
    },
  );

  it("OpenRouter's Claude is Claude", () => {
    for (const [from, to] of [
      [ROUTER, ANTHROPIC],
      [ANTHROPIC, ROUTER],
    ] as const) {
      expect(switched("messages", from, to)).toContain(`"signature":"${SIGNATURE}"`);
    }
  });

  it.each(
    rows([
      [gemini("gemini", "a1"), gemini("gemini", "a1")],
      [gemini("vertex", "a1"), gemini("vertex", "a1")],
    ]),
  )(
    "%s: from %s to %s, the same account, Google's signature comes back as it made it",
    (caller, _f, _t, from, to) => {
      const text = switched(caller, from, to);
      expect(text).toContain(`"thoughtSignature":"${SIGNATURE}"`);
      expect(text).not.toContain("sy1.");
    },
  );

  it.each(
    rows([
      [gemini("gemini", "a1"), gemini("gemini", "a2")],
      [gemini("gemini", "a1"), gemini("vertex", "a1")],
      [gemini("vertex", "a1"), gemini("gemini", "a1")],
      [ANTHROPIC, gemini("gemini", "a1")],
      [BEDROCK, gemini("vertex", "a1")],
    ]),
  )("%s: from %s to %s Google's word for no signature stands at the call", (caller, _f, _t, from, to) => {
    const text = switched(caller, from, to);
    expect(text).not.toContain(SIGNATURE);
    expect(text).not.toContain("sy1.");
    expect(text).toContain(`"thoughtSignature":"${SKIPPED}"`);
  });

  it.each(
    rows([
      [gemini("gemini", "a1"), ANTHROPIC],
      [gemini("vertex", "a1"), claude("vertex")],
      [gemini("gemini", "a1"), claude("bedrock_mantle")],
      [gemini("gemini", "a1"), BEDROCK],
      [gemini("gemini", "a1"), chat],
    ]).concat(
      rows(
        [
          [kimi("a1"), ANTHROPIC],
          [kimi("a1"), claude("vertex")],
          [kimi("a1"), claude("bedrock_mantle")],
          [kimi("a1"), BEDROCK],
          [kimi("a1"), ROUTER],
          [kimi("a1"), chat],
        ],
        ["messages"],
      ),
    ),
  )(
    "%s: from %s to %s the thinking stays behind, and no thinking is asked for in its place",
    (caller, _f, _t, from, to) => {
      const text = switched(caller, from, to);
      expect(text).not.toContain(SIGNATURE);
      expect(text).not.toContain("sy1.");
      expect(text).not.toContain('"type":"thinking"');
      expect(text).not.toContain('"enabled"');
    },
  );

  it("another server of messages gets its own signatures as it made them, and nobody else's", () => {
    expect(switched("messages", kimi("a1"), kimi("a1"))).toContain(`"signature":"${SIGNATURE}"`);
    expect(switched("messages", kimi("a1"), kimi("a2"))).not.toContain(SIGNATURE);
    expect(switched("messages", kimi("a1"), kimi("a1"), false)).toContain(`"signature":"${SIGNATURE}"`);
  });

  it("P1: where one account alone serves, answers have no mark", () => {
    for (const server of [kimi("a1"), ANTHROPIC]) {
      const body = { model: "g", ...asked.messages, messages: [{ role: "user", content: "hi" }] };
      const answer = answerOf(server);
      expect(answered(planFor("messages", server, body, false), answer)).toStrictEqual(answer);
    }
  });
});

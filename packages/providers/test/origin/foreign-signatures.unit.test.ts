import { describe, expect, it } from "vitest";
import type { FamilyName } from "../../src/families/capabilities.ts";
import { markOf, originOf } from "../../src/origin/origin-mark.ts";
import { planOf, sent } from "../support/exchange.ts";
import { call, signed } from "../support/google-calls.ts";

const OWN = originOf("own");
const OTHER = originOf("other");
const origin = (shared: boolean): { origin: { own: string; shared: boolean } } => ({
  origin: { own: OWN, shared },
});
const HI = { role: "user", content: "hi" };
const RESULT = { role: "tool", tool_call_id: "a", content: "r" };

const chatOf = (family: FamilyName, signature: string, shared: boolean): unknown => {
  const answer = {
    ...signed(signature),
    role: "assistant",
    content: null,
    tool_calls: [call("a", signed(signature)), call("b")],
  };
  const body = { model: "g", messages: [HI, answer, RESULT] };
  return (sent(planOf("chat", family, body, origin(shared))).json["messages"] as unknown[])[1];
};
const PLAIN = { role: "assistant", content: null, tool_calls: [call("a"), call("b")] };

describe("issue 4, item 7; BH-26: Google's signatures in chat, where another vendor goes on", () => {
  it.each<[FamilyName, string, boolean]>([
    ["openai", `${markOf(OTHER)}SIG`, true],
    ["openai_compatible", `${markOf(OTHER)}SIG`, true],
    ["openrouter", `${markOf(OTHER)}SIG`, false],
    ["azure_openai", "SIG", false],
    ["bedrock_mantle", "SIG", true],
  ])("%s gets none, field and all: '%s', shared %s", (family, signature, shared) => {
    expect(chatOf(family, signature, shared)).toEqual(PLAIN);
  });

  it.each<[FamilyName, string, boolean]>([
    ["openai_compatible", `${markOf(OWN)}SIG`, true],
    ["openai_compatible", "SIG", false],
    ["gemini", `${markOf(OWN)}SIG`, true],
  ])("%s gets its own: '%s', shared %s", (family, signature, shared) => {
    const account = { account: { baseUrl: "https://h/v1beta/openai" } };
    const body = { model: "g", messages: [HI, { ...PLAIN, tool_calls: [call("a", signed(signature))] }] };
    const plan = planOf("chat", family, body, { ...origin(shared), ...account });
    expect((sent(plan).json["messages"] as unknown[])[1]).toEqual({
      ...PLAIN,
      tool_calls: [call("a", signed("SIG"))],
    });
  });

  it("P1: other vendors' extra content stays, and a body without signatures byte for byte", () => {
    const text =
      '{"model":"m" , "messages":[ {"role":"assistant","extra_content":{"x":"thought_signature"}} ]}';
    expect(sent(planOf("chat", "openai", text, origin(true))).text).toBe(text);
  });
});

const reasoning = (more: object): object => ({ type: "reasoning", summary: [], ...more });
const made = { type: "function_call", call_id: "a", name: "f", arguments: "{}" };
const output = { type: "function_call_output", call_id: "a", output: "r" };

const inputOf = (items: readonly object[], shared: boolean): unknown =>
  sent(planOf("responses", "openai", { model: "g", store: false, input: items }, origin(shared))).json[
    "input"
  ];

describe("issue 4, item 7; BH-31: reasoning that the server of responses would not find", () => {
  const told = reasoning({ id: "rs_5c6d0a0e_0", summary: [{ type: "summary_text", text: "hm" }] });
  const kept = reasoning({ id: "rs_68f0c2d1aa", encrypted_content: null });

  it.each([true, false])(
    "what a translation told is left out, and signatures with it, shared %s",
    (shared) => {
      const items = [HI, told, { id: "fc_5c6d0a0e_1", ...made, ...signed("SIG") }, output];
      expect(inputOf(items, shared)).toEqual([HI, made, output]);
    },
  );

  it("what another account may keep is left out, and what followed it loses its id", () => {
    const items = [HI, kept, { id: "fc_68f0c2d1ab", ...made }, output];
    expect(inputOf(items, true)).toEqual([HI, made, output]);
    expect(inputOf(items, false)).toEqual(items);
  });

  it("what stands in the item itself stays", () => {
    const open = reasoning({ id: "rs_1", content: [{ type: "reasoning_text", text: "hm" }] });
    const encrypted = reasoning({ id: "rs_2", encrypted_content: `${markOf(OWN)}ENC` });
    const items = [HI, open, { id: "fc_1", ...made }, output, encrypted, reasoning({})];
    expect(inputOf(items, true)).toEqual([
      ...items.slice(0, 4),
      reasoning({ id: "rs_2", encrypted_content: "ENC" }),
      reasoning({}),
    ]);
  });
});

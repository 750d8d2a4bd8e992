import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ElsewhereFault } from "../../src/translate/fault.ts";
import { originOf } from "../../src/origin/origin-mark.ts";
import { marked, ownContents, readOrigins } from "../../src/origin/origin-marks.ts";
import { bytesOf, cutAt, cuts, textOf } from "../support/bytes.ts";
import { planOf, runStream, sent } from "../support/exchange.ts";

const A = originOf("acme-east");
const B = originOf("acme-west");
const mark = (origin: string, blob: string): string => `sy1.${origin}.${blob}`;
const thought = (blob: string, more: object = {}): object => ({
  type: "reasoning",
  id: "rs_1",
  summary: [],
  encrypted_content: blob,
  ...more,
});
const said = (text: string): object => ({ type: "message", role: "user", content: text });

function seenBy(own: string, input: readonly object[], strangers = true): unknown {
  const body = bytesOf(JSON.stringify({ model: "g", input }));
  return (JSON.parse(textOf(ownContents(body, own, strangers).body)) as { input: unknown }).input;
}

describe("BH-31 marks of origin", () => {
  it("say who made it, on every replica: the mark is made of the account's name alone", () => {
    expect(A).not.toBe(B);
    expect(originOf("acme-east")).toBe(A);
    expect(A).toMatch(/^[0-9a-z]{1,7}$/u);
  });

  it("what an account made comes back to it byte for byte, for any body and any cuts of the answer", () => {
    const json = fc.json({ maxDepth: 4 });
    fc.assert(
      fc.property(json, fc.base64String(), cuts, (around, blob, places) => {
        const item = `{"around":${around},"encrypted_content" : "${blob}"}`;
        const answer = bytesOf(`event: x\ndata: {"type":"response.output_item.done","item":${item}}\n\n`);
        const plan = planOf(
          "responses",
          "openai",
          { model: "g", input: "hi", stream: true },
          {
            origin: { own: A, shared: true },
          },
        );
        const passed = runStream(plan, cutAt(answer, places)).text;
        expect(passed).toBe(textOf(marked(answer, A, "encrypted_content")));
        const item2 = (JSON.parse(passed.slice(passed.indexOf("{"))) as { item: object }).item;
        expect(seenBy(A, [item2])).toEqual([JSON.parse(item)]);
      }),
      { numRuns: 60 },
    );
  });

  it("names the origins of a request in order", () => {
    const input = [
      thought(mark(B, "x")),
      said("hi"),
      thought(mark(A, "y")),
      thought(mark(A, "z")),
      thought("plain"),
    ];
    expect(readOrigins(bytesOf(JSON.stringify({ input })))).toEqual([B, A]);
    expect(readOrigins(bytesOf('{"input":"\\"encrypted_content\\":\\"sy1.abc.x\\""}'))).toEqual([]);
  });

  it("leaves out what is another's, its whole item, wherever it stands in its list", () => {
    const own = thought(mark(A, "mine"));
    const others = thought(mark(B, "theirs"));
    const mine = thought("mine");
    expect(seenBy(A, [others, own])).toEqual([mine]);
    expect(seenBy(A, [own, others])).toEqual([mine]);
    expect(seenBy(A, [said("1"), others, said("2"), others, others])).toEqual([said("1"), said("2")]);
    expect(seenBy(A, [others])).toEqual([]);
    expect(seenBy(A, [others, others, own, others, said("x"), others])).toEqual([mine, said("x")]);
  });

  it("what follows reasoning that is left out loses its id, by which its server would miss the reasoning", () => {
    const call = { type: "function_call", id: "fc_1", call_id: "c", name: "f", arguments: "{}" };
    const { id: _fc, ...bareCall } = call;
    const answer = { type: "message", role: "assistant", content: [], id: "msg_1" };
    const { id: _msg, ...bareAnswer } = answer;
    const alone = { id: "msg_2", role: "assistant", content: "x" };
    const search = { type: "web_search_call", id: "ws_1" };
    const result = { type: "function_call_output", id: "fco_1", call_id: "c", output: "r" };
    const others = thought(mark(B, "theirs"));
    const own = thought(mark(A, "mine"));
    const mine = thought("mine");
    expect(seenBy(A, [call, others, call, search, result, answer, said("x"), answer])).toEqual([
      call,
      bareCall,
      search,
      result,
      bareAnswer,
      said("x"),
      answer,
    ]);
    expect(seenBy(A, [others, call, result, own, answer])).toEqual([bareCall, result, mine, answer]);
    expect(seenBy(A, [own, call, result, others, alone])).toEqual([
      mine,
      call,
      result,
      { role: "assistant", content: "x" },
    ]);
  });

  it("keeps what has no mark only where one account alone may have made it", () => {
    expect(seenBy(A, [thought("plain"), said("x")])).toEqual([said("x")]);
    expect(seenBy(A, [thought("plain"), said("x")], false)).toEqual([thought("plain"), said("x")]);
    expect(seenBy(A, [thought("")])).toEqual([thought("")]);
  });

  it("thinking of another vendor's, which came through a translation, is never passed on", () => {
    const sealed = thought("anthropic-claude-v1.signature.SIG");
    expect(seenBy(A, [sealed, said("x")], false)).toEqual([said("x")]);
  });

  it("chat's reasoning_items are treated the same", () => {
    const message = (blobs: readonly string[]): object => ({
      role: "assistant",
      content: "hi",
      reasoning_items: blobs.map((blob) => thought(blob)),
    });
    const body = { model: "g", messages: [message([mark(B, "x"), mark(A, "y")]), said("go on")] };
    const plan = planOf("chat", "openai", body, { origin: { own: A, shared: true } });
    expect(sent(plan).json).toEqual({ model: "m", messages: [message(["y"]), said("go on")] });
    const answer = { choices: [{ index: 0, message: message(["z"]) }] };
    const reading = plan.readAnswer(bytesOf(JSON.stringify(answer)));
    expect(reading.kind === "usable" && textOf(reading.body)).toContain(mark(A, "z"));
  });

  it("a conversation that another account compacted is not sent blindly", () => {
    const compacted = { type: "compaction", id: "cmp_1", encrypted_content: mark(B, "all of it") };
    const body = { model: "g", input: [compacted, said("go on")] };
    const to = (own: string): unknown =>
      sent(planOf("responses", "openai", body, { origin: { own, shared: true } })).json["input"];
    expect(() => to(A)).toThrow(ElsewhereFault);
    expect(to(B)).toEqual([{ ...compacted, encrypted_content: "all of it" }, said("go on")]);
  });

  it("P1: where one account alone serves nothing is marked, and a body without blobs is not touched", () => {
    const plan = planOf(
      "responses",
      "openai",
      { model: "m", input: [said("hi")] },
      { origin: { own: A, shared: false } },
    );
    const answer = bytesOf(JSON.stringify({ status: "completed", output: [thought("blob")] }));
    const reading = plan.readAnswer(answer);
    expect(reading.kind === "usable" && reading.body).toBe(answer);
    const body = bytesOf('{"input":[{"content":"\\"encrypted_content\\": no"}]}');
    expect(ownContents(body, A, true).body).toBe(body);
  });
});

import { expect, it } from "vitest";
import { EOF, failure, FLUSH, G, json, sse } from "@switchyard/testkit";
import type { Answer } from "@switchyard/testkit";
import { forEachForm } from "../support/gateway-stage.ts";
import { FAMILIES } from "../support/translation-cases.ts";

const SIGNED = [
  { functionCall: { name: "f", args: { i: 1 } }, thoughtSignature: "U0lHLUE=" },
  { functionCall: { name: "f", args: { i: 2 } } },
];

/** What A issued, and what Google takes in its place. */
const KNOWN = ["U0lHLUE=", "skip_thought_signature_validator"];

interface Said {
  readonly tool_calls: readonly { readonly id: string; readonly function: object }[];
}

/** What an SDK's types have of a message that calls tools. */
function standardOf({ tool_calls: calls }: Said): object {
  return {
    role: "assistant",
    content: null,
    tool_calls: calls.map(({ id, function: called }) => ({ id, type: "function", function: called })),
  };
}

interface Blob {
  readonly type?: string;
  readonly encrypted_content?: string;
}

/** An Azure resource that refuses what another resource encrypted. */
function azure(name: string): (call: { json(): unknown }) => Answer {
  let made = 0;
  return (call) => {
    const input = (call.json() as { input: Blob[] }).input;
    const blobs = input.flatMap(({ encrypted_content: blob }) => blob ?? []);
    if (!blobs.every((blob) => new RegExp(`^ENC-${name}-\\d+$`, "u").test(blob))) {
      const message = "The encrypted content could not be verified.";
      return failure(400, { message, type: "invalid_request_error", code: "invalid_encrypted_content" });
    }
    made += 1;
    const content = [{ type: "output_text", text: `from ${name}`, annotations: [] }];
    const message = { id: "msg_1", type: "message", status: "completed", role: "assistant", content };
    const thought = {
      type: "reasoning",
      id: `rs_${made}`,
      summary: [],
      encrypted_content: `ENC-${name}-${made}`,
    };
    return json(200, {
      id: `resp_${name}${made}`,
      object: "response",
      created_at: 1,
      status: "completed",
      error: null,
      model: "gpt-up",
      output: [thought, message],
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    });
  };
}

forEachForm("reported faults of translation over replicas", { replicas: 2 }, (stage) => {
  it.for([
    [false, true],
    [true, true],
    [false, false],
    [true, false],
  ] as const)(
    "BH-26: a signature finds its way back through another gateway, stream %s, whole message %s",
    async ([stream, whole]) => {
      await using scene = await stage.scene(FAMILIES.gemini);
      scene.A.answer((call) => {
        const { contents } = call.json() as { contents: { parts: { thoughtSignature?: string }[] }[] };
        const parts = contents[1]?.parts ?? [];
        const isGood =
          parts.length === 0 ||
          (KNOWN.includes(parts[0]?.thoughtSignature ?? "") && parts[1]?.thoughtSignature === undefined);
        if (!isGood)
          return json(400, {
            error: { code: 400, message: "missing thought_signature", status: "INVALID_ARGUMENT" },
          });
        const said = { role: "model", parts: parts.length === 0 ? SIGNED : [{ text: "done" }] };
        const answer = { candidates: [{ index: 0, content: said, finishReason: "STOP" }] };
        return call.path.includes("stream") ? sse([G(answer), FLUSH, EOF]) : json(200, answer);
      });
      const hi = { role: "user", content: "go" };
      const first = await scene.ask({ messages: [hi] });
      const { choices } = first.json() as { choices: { message: Said }[] };
      const message = choices[0]?.message as Said;
      const given = whole ? message : standardOf(message);
      const results = message.tool_calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "r" }));
      const second = await scene.via(1).send({ stream, messages: [hi, given, ...results] });
      expect(second.status).toBe(200);
      expect(await second.text()).toContain("done");
      expect(scene.counts).toEqual({ A: 2 });
    },
  );

  it("BH-31: two Azure resources see only what they encrypted, after a restart and through another gateway", async () => {
    await using scene = await stage.scene({
      pool: ["A", "B"],
      providers: { A: { family: "azure_openai" }, B: { family: "azure_openai" } },
      policy: { strategy: "round_robin" },
    });
    for (const name of ["A", "B"] as const) scene[name].answer(azure(name));
    const talks = Array.from({ length: 10 }, () => ({ input: [] as object[], served: [] as string[] }));
    for (let turn = 0; turn < 5; turn += 1) {
      // The first gateway forgets all that it knew.
      if (turn === 2 && stage.form === "four-processes") {
        await scene.gateway.restart("router");
        await scene.gateway.restart("forwarder");
      }
      await Promise.all(
        talks.map(async ({ input, served }) => {
          input.push({ role: "user", content: `turn ${turn}` });
          const via = turn === 2 ? scene : scene.via(turn % 2);
          const body = { messages: undefined, store: false, include: ["reasoning.encrypted_content"], input };
          const got = await via.ask(body, { path: "/v1/responses" });
          expect(got.status).toBe(200);
          const { output } = got.json() as { output: object[] };
          served.push(/from ([AB])/u.exec(got.text)?.[1] ?? got.text);
          input.push(...output);
        }),
      );
    }
    for (const { served } of talks) expect(new Set(served).size).toBe(1);
    const firsts = talks.map(({ served }) => served[0]);
    for (const name of ["A", "B"])
      expect(firsts.filter((first) => first === name).length).toBeGreaterThanOrEqual(2);
    expect(scene.A.calls.length + scene.B.calls.length).toBe(50);
  });
});

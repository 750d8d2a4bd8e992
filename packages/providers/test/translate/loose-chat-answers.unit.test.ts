import { describe, expect, it } from "vitest";
import { bytesOf } from "../support/bytes.ts";
import { answered, eventsOf, planOf, runStream } from "../support/exchange.ts";

const ASK = { model: "g", max_tokens: 9, messages: [{ role: "user", content: "hi" }] };

describe("chat answers of servers that follow the API loosely", () => {
  it("P2: fields that are there and empty say nothing", () => {
    const message = {
      role: "assistant",
      content: "hi",
      refusal: "",
      annotations: null,
      audio: { data: "", expires_at: 0, id: "", transcript: "" },
      function_call: { arguments: "", name: "" },
      images: [],
    };
    const told = answered(planOf("messages", "openai_compatible", ASK), {
      id: "",
      model: "m",
      choices: [{ index: 0, message, finish_reason: "" }],
    });
    expect(told["content"]).toEqual([{ type: "text", text: "hi" }]);
    expect(told["stop_reason"]).toBe("end_turn");
    expect(told).not.toHaveProperty("provider_specific");
  });

  it("P2: sources beside the choices go on, once, as the last chunk has them", () => {
    const chunk = (content: string, citations: string[], finish_reason: string | null): string =>
      `data: ${JSON.stringify({ id: "c", model: "m", choices: [{ index: 0, delta: { content }, finish_reason }], citations })}\n\n`;
    const { text, verdict } = runStream(planOf("messages", "openai_compatible", { ...ASK, stream: true }), [
      chunk("a", ["https://h/1"], null),
      chunk("b", ["https://h/1", "https://h/2"], "stop"),
      "data: [DONE]\n\n",
    ]);
    expect(verdict).toBe("complete");
    expect(eventsOf(text).at(-2)).toMatchObject({
      type: "message_delta",
      provider_specific: [{ citations: ["https://h/1", "https://h/2"] }],
    });
  });

  it.each(["error", "insufficient_system_resource", "network_error", "abort"])(
    "E6, BH-16: what ends with %s was broken off by its server, and is no answer",
    (finish_reason) => {
      const choice = { index: 0, finish_reason };
      const reading = planOf("messages", "openai_compatible", ASK).readAnswer(
        bytesOf(JSON.stringify({ choices: [{ ...choice, message: { content: "Hal" } }] })),
      );
      expect(reading.kind).toBe("invalid");
      const chunk = { id: "c", model: "m", choices: [{ ...choice, delta: { content: "Hal" } }] };
      const { text, verdict } = runStream(planOf("messages", "openai_compatible", { ...ASK, stream: true }), [
        `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`,
      ]);
      expect(verdict).toBe("cut");
      expect(text).toContain("Hal");
      expect(text).not.toMatch(/stop_reason":"|message_stop/u);
    },
  );

  it("P2: a window that is full is a length", () => {
    const said = answered(planOf("messages", "openai_compatible", ASK), {
      choices: [{ index: 0, message: { content: "Hal" }, finish_reason: "model_context_window_exceeded" }],
    });
    expect(said["stop_reason"]).toBe("max_tokens");
  });
});

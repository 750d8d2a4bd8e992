import { describe, expect, it } from "vitest";
import { BlockQueue } from "../../src/dialects/anthropic/block-queue.ts";
import { eventsOf } from "../support/exchange.ts";

const thinking = { type: "thinking", thinking: "", signature: "" };

describe("BlockQueue", () => {
  it("P4: nothing is added to a block that is over, while it waits behind an open call", () => {
    const queue = new BlockQueue();
    let text = queue.begin("tool_use", { type: "tool_use", id: "a", name: "f", input: {} }, 0);
    text += queue.appendInput(0, '{"n"');
    text += queue.begin("thinking", thinking);
    text += queue.append({ type: "signature_delta", signature: "S" });
    expect(queue.lastKind).toBe("thinking");
    text += queue.end();
    expect(queue.lastKind).toBeUndefined();
    text += queue.begin("thinking", thinking);
    text += queue.append({ type: "thinking_delta", thinking: "more" });
    text += queue.appendInput(0, ":1}");
    text += queue.endAll();
    expect(eventsOf(text).map(({ index, type }) => [index, String(type).slice(14)])).toStrictEqual([
      [0, "start"],
      [0, "delta"],
      [0, "delta"],
      [0, "stop"],
      [1, "start"],
      [1, "delta"],
      [1, "stop"],
      [2, "start"],
      [2, "delta"],
      [2, "stop"],
    ]);
  });
});

import { expect, it } from "vitest";
import { CH, data, DONE, EOF, FLUSH, HEALTHY, json, OK, ROLE, sse } from "@switchyard/testkit";
import type { Answer } from "@switchyard/testkit";
import type { StreamReply } from "../support/gateway-client.ts";
import { forEachForm } from "../support/gateway-stage.ts";

const OVERLOADED = data({
  error: { message: "Overloaded", type: "overloaded_error", code: null, param: null },
});
const NO_CHOICES = json(200, {
  id: "c1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [],
  usage: { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 },
});

function expectHealthy(reply: StreamReply, text: string): void {
  expect(reply.status).toBe(200);
  expect(reply.headers.get("content-type")).toContain("text/event-stream");
  expect(reply.text).toBe(text);
  expect(reply.done).toBe(true);
  expect(reply.failure).toBeUndefined();
  expect(reply.bytes.toString()).not.toContain("error");
  expect(reply.events.filter((event) => event.data.includes('"role"'))).toHaveLength(1);
}

forEachForm("before anything has reached the caller", {}, (stage) => {
  const overloaded: readonly [string, Answer][] = [
    ["alone", sse([OVERLOADED, EOF])],
    ["after a role chunk and a ping", sse([ROLE, FLUSH, ": ping\n\n", FLUSH, OVERLOADED, FLUSH, EOF])],
  ];
  it.concurrent.for(overloaded)(
    "BH-05 fails over when a 200 stream opens with an error, %s (E6)",
    async ([, answer]) => {
      await using scene = await stage.scene();
      scene.A.answer(answer);
      scene.B.answer(HEALTHY("from b"));
      const first = await scene.stream();
      expectHealthy(first, "from b");
      expect(first.attempts.map(({ error }) => error)).toEqual(["overloaded", undefined]);
      expectHealthy(await scene.stream(), "from b");
      expect(scene.counts).toEqual({ A: 1, B: 2 });
    },
  );

  it.concurrent("BH-05 answers an overloaded stream as a plain error when nothing else is left (E7)", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    scene.A.answer(sse([OVERLOADED, EOF]));
    const reply = await scene.ask({ stream: true });
    expect([503, 529]).toContain(reply.status);
    expect(reply.headers.get("content-type")).toBe("application/json");
    expect(reply.error).toMatchObject({ message: "Overloaded" });
  });

  it.concurrent("BH-07 fails over from an answer with no choices (invalid_response)", async () => {
    await using scene = await stage.scene();
    scene.A.answer(NO_CHOICES);
    scene.B.answer(OK("real"));
    const reply = await scene.ask();
    expect(reply.content).toBe("real");
    expect(reply.attempts[0]).toMatchObject({ error: "invalid_response", outcome: "failed", status: 200 });
    expect((await scene.ask()).content).toBe("real");
    expect(scene.counts).toEqual({ A: 1, B: 2 });
  });

  it.concurrent("BH-07 answers 502 when the only provider gave no choices (E7)", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    scene.A.answer(NO_CHOICES);
    const reply = await scene.ask();
    expect(reply.status).toBe(502);
    expect(reply.error).toMatchObject({ code: "upstream_invalid_response", type: "server_error" });
  });

  it.concurrent("BH-07 fails over from a stream that is only [DONE] (E6)", async () => {
    await using scene = await stage.scene();
    scene.A.answer(sse([DONE]));
    scene.B.answer(HEALTHY("real"));
    expectHealthy(await scene.stream(), "real");
    expect(scene.counts).toEqual({ A: 1, B: 1 });
  });

  it.concurrent("BH-16 fails over from a stream that ends at once", async () => {
    await using scene = await stage.scene();
    scene.A.answer(sse([EOF]));
    scene.B.answer(HEALTHY("real"));
    expectHealthy(await scene.stream(), "real");
    expect(scene.counts).toEqual({ A: 1, B: 1 });
  });

  const waiting = ": OPENROUTER PROCESSING\n\n";

  it.concurrent("BH-12 never makes data of comments", async () => {
    await using scene = await stage.scene();
    scene.A.answer(
      sse([
        waiting,
        FLUSH,
        waiting,
        FLUSH,
        CH({ role: "assistant", content: "H" }, null),
        FLUSH,
        ":\n\n",
        FLUSH,
        ': data: {"not":"data"}\n',
        CH({ content: "i" }, null),
        FLUSH,
        CH({}, "stop"),
        DONE,
      ]),
    );
    const reply = await scene.stream();
    expect(reply.text).toBe("Hi");
    for (const event of reply.events) {
      expect(event.data).not.toContain('"not"');
      if (event.data !== "[DONE]")
        expect(JSON.parse(event.data)).toMatchObject({ object: "chat.completion.chunk" });
    }
    expect(reply.done).toBe(true);
    expect(scene.counts).toEqual({ A: 1, B: 0 });
  });

  it.concurrent("BH-12 takes comments for no token: an error after them fails over (E6)", async () => {
    await using scene = await stage.scene();
    const busy = data({ error: { message: "upstream busy", code: 502 } });
    scene.A.answer(sse([waiting, FLUSH, waiting, FLUSH, busy, EOF]));
    scene.B.answer(HEALTHY("from b"));
    const reply = await scene.stream();
    expect(reply.text).toBe("from b");
    expect(reply.errors).toEqual([]);
    expect(scene.counts).toEqual({ A: 1, B: 1 });
  });
});

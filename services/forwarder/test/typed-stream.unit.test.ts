import { create } from "@bufbuild/protobuf";
import { Role } from "@switchyard/proto/inference/v1/chat";
import { ChatRequestSchema, StreamChatRequestSchema } from "@switchyard/proto/inference/v1/inference_service";
import type { StreamChatResponse } from "@switchyard/proto/inference/v1/inference_service";
import { CallContext, readFailure } from "@switchyard/rpc";
import type { ConnectError, Sink } from "@switchyard/rpc";
import * as fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ChatStream } from "../src/typed/chat-stream.ts";
import { chunkPart, headPart, trailerPart } from "../src/reply/parts.ts";
import { attempt, EXHAUSTED } from "./fakes.ts";
import type { Script } from "./fakes.ts";
import { createStage, DONE, ERROR_500, ERROR_EVENT, FINISH, OK, ROLE, token, USAGE } from "./stage.ts";

afterEach(() => {
  vi.useRealTimers();
});

const A = attempt("a/m");
const parameters = {
  model: "g",
  messages: [{ role: Role.USER, content: { case: "text" as const, value: "hi" } }],
};
const CHAT = create(ChatRequestSchema, { parameters });
const STREAM = create(StreamChatRequestSchema, { parameters });

/** A caller's end of a typed stream. */
class TypedSink implements Sink<StreamChatResponse> {
  readonly parts: StreamChatResponse["part"][] = [];
  ends = 0;
  failed: ConnectError | undefined;
  full = false;
  drain = (): void => {};

  send({ part }: StreamChatResponse): boolean {
    this.parts.push(part);
    return !this.full;
  }
  end(): void {
    this.ends += 1;
  }
  fail(error: ConnectError): void {
    this.failed = error;
  }
  onDrain(listener: () => void): void {
    this.drain = () => {
      this.full = false;
      listener();
    };
  }
  get cases(): (string | undefined)[] {
    return this.parts.map((part) => part.case);
  }
}

function streaming(...scripts: readonly Script[]) {
  const stage = createStage(...scripts);
  const sink = new TypedSink();
  stage.forwarder.inference.streamChat(STREAM, sink, stage.call);
  return { stage, sink, provider: stage.upstream.at(0) };
}

describe("a stream in types", () => {
  it("invariant 6: a slow caller pauses the provider, and its drain lets it go on", () => {
    const { sink, provider } = streaming(A);
    sink.full = true;
    provider.stream().data(ROLE + token("a"));
    expect(provider.paused).toBe(true);
    sink.drain();
    expect(provider.paused).toBe(false);
    provider.data(token("b") + FINISH + USAGE + DONE).end();
    expect(sink.cases).toEqual(["start", "delta", "delta", "delta", "end"]);
    expect([sink.ends, sink.failed]).toEqual([1, undefined]);
  });

  it("a caller that leaves ends the attempt", () => {
    const { stage, sink, provider } = streaming(A);
    provider.stream().data(ROLE + token("a"));
    stage.call.cancel();
    expect([provider.aborted, readFailure(sink.failed).code]).toEqual([true, "client_closed"]);
  });

  it("a provider that does not stream is told as one delta", () => {
    const { sink, provider } = streaming(A);
    provider.answer(200, OK);
    expect(sink.parts).toMatchObject([
      { case: "start", value: { id: "c1", model: "m-1" } },
      { case: "delta", value: { content: "hello", finishReason: "stop" } },
      { case: "end", value: { usage: { input: 3n, output: 7n }, deployment: "a/m" } },
    ]);
  });

  it("P2: what events say beside their choices is told at the end, of each the last", () => {
    const { sink, provider } = streaming(A);
    const beside = (fields: object): string =>
      `data: ${JSON.stringify({ id: "c1", model: "m-1", choices: [], obfuscation: "x", ...fields })}\n\n`;
    const sources = [{ citations: ["https://h/1"] }, { citations: ["https://h/2"], service_tier: "flex" }];
    provider
      .stream()
      .data(ROLE + token("a") + sources.map(beside).join("") + FINISH + DONE)
      .end();
    const extra = { citations: ["https://h/2"], service_tier: "flex" };
    expect(sink.parts.at(-1)).toMatchObject({ case: "end", value: { extra } });
  });

  it("an event that is an error ends it in the provider's words, once", () => {
    const { sink, provider } = streaming(A);
    provider
      .stream()
      .data(ROLE + token("a"))
      .data(ERROR_EVENT);
    expect(sink.cases).toEqual(["start", "delta"]);
    expect([sink.failed?.rawMessage, readFailure(sink.failed)]).toMatchObject([
      "busy now",
      { code: "overloaded_error", status: 502 },
    ]);
    expect(sink.ends).toBe(0);
  });

  it("one without its trailer never looks complete", () => {
    const sink = new TypedSink();
    const inner = new CallContext();
    const stream = new ChatStream(sink, inner);
    stream.send(headPart(200, ["content-type", "text/event-stream"]));
    stream.send(chunkPart(new TextEncoder().encode(token("a"))));
    stream.end();
    expect([sink.ends, readFailure(sink.failed).code, inner.cancelled]).toEqual([
      0,
      "upstream_invalid_response",
      true,
    ]);
  });

  it("an event without an end is cut off, and its request with it", () => {
    const sink = new TypedSink();
    const inner = new CallContext();
    const stream = new ChatStream(sink, inner);
    stream.send(headPart(200, ["content-type", "text/event-stream"]));
    stream.send(chunkPart(new Uint8Array(5 * 1024 * 1024).fill(0x61)));
    expect([readFailure(sink.failed).status, inner.cancelled]).toEqual([502, true]);
  });

  it("is the same wherever its bytes are cut", () => {
    const bytes = new TextEncoder().encode(ROLE + token("grüß") + token("😀") + FINISH + USAGE + DONE);
    const told = (cuts: readonly number[]) => {
      const sink = new TypedSink();
      const stream = new ChatStream(sink, new CallContext());
      stream.send(headPart(200, ["content-type", "text/event-stream; charset=utf-8"]));
      let from = 0;
      for (const to of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
        stream.send(chunkPart(bytes.slice(from, to)));
        from = to;
      }
      stream.send(
        trailerPart({ group: "g", deployment: "a/m", model: "m", usage: undefined, costUsd: undefined }),
      );
      stream.end();
      return sink.parts;
    };
    const whole = told([]);
    expect(whole.map((part) => part.case)).toEqual(["start", "delta", "delta", "delta", "end"]);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length)), (cuts) => {
        expect(told(cuts)).toEqual(whole);
      }),
    );
  });
});

describe("a whole answer in types", () => {
  it("E7: a provider's error tells its type where it has no code, and how long to wait", async () => {
    const stage = createStage(A, EXHAUSTED);
    const answer = Promise.resolve(stage.forwarder.inference.chat(CHAT, stage.call));
    const failed = answer.then(undefined, readFailure);
    stage.upstream.at(0).answer(500, ERROR_500, ["content-type", "application/json", "retry-after", "2"]);
    expect(await failed).toMatchObject({
      code: "server_error",
      status: 500,
      message: "broken inside",
      metadata: { retry_after_ms: "2000", attempts: expect.stringContaining("a/m") as string },
    });
  });

  it("what is no chat completion is refused", async () => {
    const stage = createStage(A, EXHAUSTED);
    const answer = Promise.resolve(stage.forwarder.inference.chat(CHAT, stage.call));
    const failed = answer.then(undefined, readFailure);
    stage.upstream.at(0).answer(200, "[1]");
    expect(await failed).toMatchObject({ code: "upstream_invalid_response", status: 502 });
  });

  it("parameters are needed", async () => {
    const stage = createStage(A);
    const failed = await Promise.resolve(
      stage.forwarder.inference.chat(create(ChatRequestSchema), stage.call),
    ).then(undefined, readFailure);
    expect(failed).toMatchObject({ code: "invalid_request", status: 400 });
    expect(stage.decides).toEqual([]);
  });
});

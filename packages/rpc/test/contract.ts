import { randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import {
  type InferenceService,
  type InferRequest,
  InferRequestSchema,
  type InferResponse,
  InferResponseSchema,
} from "@switchyard/proto/inference/v1/inference_service";
import {
  DecideRequestSchema,
  type DecideResponse,
  DecideResponseSchema,
  ExplainResponseSchema,
  ListGroupsResponseSchema,
  type RoutingService,
} from "@switchyard/proto/routing/v1/routing_service";
import { comesTrue } from "@switchyard/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Call,
  CallContext,
  Code,
  ConnectError,
  failure,
  readFailure,
  readStream,
  type ServiceImpl,
} from "../src/index.ts";

/** What handlers saw, for tests to look at. */
export interface Seen {
  cancelled: Promise<void>;
  calls: number;
  sent: number;
  deadline: number | undefined;
}

export interface Fixture {
  routing: ServiceImpl<typeof RoutingService>;
  inference: ServiceImpl<typeof InferenceService>;
  close(): Promise<void>;
}

export interface Implementation {
  routing: ServiceImpl<typeof RoutingService>;
  inference: ServiceImpl<typeof InferenceService>;
  seen: Seen;
}

/** Services that do as the request says. */
export function scripted(): Implementation {
  let cancelled = (): void => {};
  const seen: Seen = { cancelled: Promise.resolve(), calls: 0, sent: 0, deadline: undefined };
  const watch = (call: Call): void => {
    seen.cancelled = new Promise((resolve) => {
      cancelled = resolve;
    });
    seen.calls += 1;
    seen.deadline = call.deadline;
    call.onCancel(() => cancelled());
  };
  const routing: Implementation["routing"] = {
    decide(request, call) {
      watch(call);
      const script = request.facts?.model ?? "";
      if (script === "fail") throw refused();
      if (script === "fail-later") return Promise.reject(refused());
      if (script === "bug") throw new TypeError("a secret");
      if (script === "hang") return hang(call);
      if (script === "header") return answer(call.header("x-team") ?? "");
      return answer(script);
    },
    explain: () => create(ExplainResponseSchema),
    listGroups: async () => create(ListGroupsResponseSchema, { groups: [{ name: "chat" }] }),
  };
  const inference: Implementation["inference"] = {
    infer(request, sink, call) {
      watch(call);
      seen.sent = 0;
      const send = (value: Uint8Array): boolean => {
        seen.sent += 1;
        return sink.send(create(InferResponseSchema, { part: { case: "chunk", value } }));
      };
      switch (request.path) {
        case "/echo":
          send(request.body);
          return sink.end();
        case "/many":
          for (let i = 0; i < 5000; i += 1) send(new Uint8Array([i & 255, i >> 8]));
          return sink.end();
        case "/empty":
          return sink.end();
        case "/fail-first":
          return sink.fail(refused());
        case "/fail-midway":
          send(new Uint8Array(1));
          return sink.fail(refused());
        case "/throw":
          throw refused();
        case "/hang":
          send(new Uint8Array(1));
          return;
        case "/flood": {
          // As much as the sink takes, up to a bound that only a sink without backpressure reaches. Random: not to be compressed.
          const piece = randomBytes(16_384);
          const more = (): void => {
            while (!call.cancelled && seen.sent < 4096) if (!send(piece)) return;
            sink.end();
          };
          sink.onDrain(more);
          return more();
        }
        default:
          return sink.end();
      }
    },
    chat: unserved,
    streamChat: unserved,
    embed: unserved,
  };
  return { routing, inference, seen };
}

/** For methods that no test of this package calls. */
function unserved(): never {
  throw failure("not_found", "not served", { status: 404 });
}

function refused(): ConnectError {
  return failure("rate_limit_exceeded", "zu viele Anfragen", {
    status: 429,
    metadata: { retry_after_ms: "1500" },
  });
}

function answer(keyName: string): DecideResponse {
  return create(DecideResponseSchema, { keyName, continuation: new Uint8Array([1, 2, 3]) });
}

function hang(call: Call): Promise<DecideResponse> {
  return new Promise((_, reject) => {
    call.onCancel(() => reject(new ConnectError("left", Code.Canceled)));
  });
}

const asking = (model: string) => create(DecideRequestSchema, { facts: { id: "r", model } });
const inferring = (path: string, body = new Uint8Array()): InferRequest =>
  create(InferRequestSchema, { method: "POST", path, body });

async function collect(fixture: Fixture, request: InferRequest, call: CallContext): Promise<InferResponse[]> {
  const got: InferResponse[] = [];
  for await (const message of readStream<InferResponse>((sink) =>
    fixture.inference.infer(request, sink, call),
  )) {
    got.push(message);
  }
  return got;
}

async function caught(work: Promise<unknown>): Promise<ConnectError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof ConnectError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

const chunkOf = (message: InferResponse | undefined): Uint8Array =>
  message?.part.case === "chunk" ? message.part.value : new Uint8Array();

/** What holds for a service however it is called. */
export function contract(name: string, connect: (implementation: Implementation) => Promise<Fixture>): void {
  describe.each([name])("%s", () => {
    const implementation = scripted();
    const { seen } = implementation;
    const remote = name !== "in process";
    let fixture: Fixture;
    beforeAll(async () => {
      fixture = await connect(implementation);
    });
    afterAll(() => fixture.close());

    const decide = async (model: string, call = new CallContext()): Promise<DecideResponse> =>
      fixture.routing.decide(asking(model), call);

    test("unary: the answer, synchronous or not", async () => {
      const response = await decide("chat");
      expect([response.keyName, [...response.continuation]]).toEqual(["chat", [1, 2, 3]]);
      const groups = await fixture.routing.listGroups(
        { $typeName: "switchyard.routing.v1.ListGroupsRequest" },
        new CallContext(),
      );
      expect(groups.groups[0]?.name).toBe("chat");
    });

    test("unary: text of any script", async () => {
      expect((await decide("größe 模型 🚃")).keyName).toBe("größe 模型 🚃");
    });

    test("metadata reaches the handler", async () => {
      const call = new CallContext({ headers: { "x-team": 'a b;c="d"' } });
      expect((await decide("header", call)).keyName).toBe('a b;c="d"');
    });

    test.each(["fail", "fail-later"])("unary: %s comes with code, message and details", async (script) => {
      expect(readFailure(await caught(decide(script)))).toEqual({
        code: "rate_limit_exceeded",
        status: 429,
        message: "zu viele Anfragen",
        connectCode: Code.ResourceExhausted,
        metadata: { retry_after_ms: "1500" },
      });
    });

    test("the deadline reaches the handler", async () => {
      const deadline = Date.now() + 20_000;
      await decide("chat", new CallContext({ deadline }));
      expect(Math.abs((seen.deadline ?? 0) - deadline)).toBeLessThan(1000);
    });

    test("unary: a cancel ends the call and reaches the handler", async () => {
      const call = new CallContext();
      const before = seen.calls;
      const error = caught(decide("hang", call));
      await comesTrue(() => seen.calls > before);
      call.cancel();
      expect((await error).code).toBe(Code.Canceled);
      await seen.cancelled;
    });

    test("stream: many messages, in order", async () => {
      const got = await collect(fixture, inferring("/many"), new CallContext());
      expect(got.map((m) => (chunkOf(m)[0] ?? 0) + 256 * (chunkOf(m)[1] ?? 0))).toEqual(
        Array.from({ length: 5000 }, (_, i) => i),
      );
    });

    test("stream: none", async () => {
      expect(await collect(fixture, inferring("/empty"), new CallContext())).toEqual([]);
    });

    test.each([0, 1, 4095, 4096, 70_000, 3_000_000])(
      "stream: a body of %d bytes there and back",
      async (size) => {
        const body = new Uint8Array(size).map((_, i) => (i * 7) & 255);
        const [first] = await collect(fixture, inferring("/echo", body), new CallContext());
        expect(Buffer.compare(chunkOf(first), body)).toBe(0);
      },
    );

    test.each(["/fail-first", "/fail-midway"])("stream: %s", async (path) => {
      const error = await caught(collect(fixture, inferring(path), new CallContext()));
      expect(readFailure(error)).toMatchObject({
        code: "rate_limit_exceeded",
        metadata: { retry_after_ms: "1500" },
      });
    });

    test("stream: a cancel reaches the handler", async () => {
      const call = new CallContext();
      const reader = readStream<InferResponse>((sink) =>
        fixture.inference.infer(inferring("/hang"), sink, call),
      );
      await reader.next();
      call.cancel();
      await expect(seen.cancelled).resolves.toBeUndefined();
      if (remote) expect((await caught(reader.next())).code).toBe(Code.Canceled);
    });

    test("stream: a slow reader holds the handler back", async () => {
      const call = new CallContext();
      const reader = readStream<InferResponse>((sink) =>
        fixture.inference.infer(inferring("/flood"), sink, call),
      );
      await reader.next();
      await quiet(() => seen.sent);
      expect(seen.sent).toBeLessThan(2048);
      for (let i = 0; i < 4095; i += 1) await reader.next();
      expect((await reader.next()).done).toBe(true);
      expect(seen.sent).toBe(4096);
    });

    if (!remote) return;

    test("a foreign error's text stays at home", async () => {
      const error = await caught(decide("bug"));
      expect([error.code, error.rawMessage]).toEqual([Code.Internal, "internal error"]);
    });

    test("stream: what the handler throws ends it", async () => {
      const error = await caught(collect(fixture, inferring("/throw"), new CallContext()));
      expect(readFailure(error).code).toBe("rate_limit_exceeded");
    });

    test("a request that breaks its schema's rules is refused", async () => {
      const error = await caught(collect(fixture, inferring("no-slash"), new CallContext()));
      expect([error.code, error.rawMessage]).toEqual([Code.InvalidArgument, expect.stringContaining("path")]);
      expect((await caught(decide("x".repeat(4097)))).code).toBe(Code.InvalidArgument);
    });

    test("unary: the deadline ends the call and reaches the handler", async () => {
      const before = seen.calls;
      const error = caught(decide("hang", new CallContext({ deadline: Date.now() + 300 })));
      await comesTrue(() => seen.calls > before);
      expect((await error).code).toBe(Code.DeadlineExceeded);
      await seen.cancelled;
    });

    test("stream: the deadline ends the call and reaches the handler", async () => {
      const before = seen.calls;
      const call = new CallContext({ deadline: Date.now() + 300 });
      const error = caught(collect(fixture, inferring("/hang"), call));
      await comesTrue(() => seen.calls > before);
      expect((await error).code).toBe(Code.DeadlineExceeded);
      await seen.cancelled;
    });

    test("many at once", async () => {
      const names = Array.from({ length: 200 }, (_, i) => `chat-${i}`);
      const answers = await Promise.all(names.map((model) => decide(model)));
      expect(answers.map((a) => a.keyName)).toEqual(names);
    });
  });
}

/** Waits until a number no longer grows. */
async function quiet(read: () => number): Promise<void> {
  for (let last = -1, same = 0; same < 10; ) {
    const now = read();
    same = now === last ? same + 1 : 0;
    last = now;
    await new Promise<void>((resolve) => setTimeout(resolve, 10));
  }
}

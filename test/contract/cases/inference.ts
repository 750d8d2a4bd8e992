import { create } from "@bufbuild/protobuf";
import { InferenceService, InferRequestSchema } from "@switchyard/proto/inference/v1/inference_service";
import type {
  Head,
  InferRequest,
  InferResponse,
  Trailer,
} from "@switchyard/proto/inference/v1/inference_service";
import { type CallContext, Code, ConnectError, readStream } from "@switchyard/rpc";
import {
  BROKEN,
  CH,
  DONE,
  eventually,
  failure,
  HANG,
  NEXT,
  RESET,
  ROLE,
  RST,
  SILENT,
  sse,
  USAGE,
  wait,
} from "@switchyard/testkit";
import { expect } from "vitest";
import { as, expectInfo, infoOf } from "../contract-case.ts";
import type { ContractCase, MethodContract } from "../contract-case.ts";
import { KEYS } from "../stage.ts";
import type { Clients } from "../transports.ts";

/** One answer as it came. */
interface Inferred {
  /** Kinds of its parts, in order, chunks that follow each other as one. */
  readonly order: string[];
  readonly head: Head | undefined;
  readonly text: string;
  readonly trailer: Trailer | undefined;
  readonly error: ConnectError | undefined;
}

function chat(fields: object = {}, more: Partial<Pick<InferRequest, "path" | "method">> = {}): InferRequest {
  const body = JSON.stringify({ model: "chat", messages: [{ role: "user", content: "hi" }], ...fields });
  return create(InferRequestSchema, {
    method: "POST",
    path: "/v1/chat/completions",
    body: new TextEncoder().encode(body),
    ...more,
  });
}

function start(
  { inference }: Clients,
  request: InferRequest,
  call: CallContext,
): AsyncGenerator<InferResponse> {
  return readStream<InferResponse>((sink) => inference.infer(request, sink, call), {
    onLeave: () => call.cancel(),
  });
}

async function infer(clients: Clients, request: InferRequest, call = as(KEYS.caller)): Promise<Inferred> {
  const order: string[] = [];
  const chunks: Uint8Array[] = [];
  let head: Head | undefined;
  let trailer: Trailer | undefined;
  let error: ConnectError | undefined;
  try {
    for await (const { part } of start(clients, request, call)) {
      if (order.at(-1) !== part.case || part.case !== "chunk") order.push(part.case ?? "nothing");
      if (part.case === "head") head = part.value;
      else if (part.case === "chunk") chunks.push(part.value);
      else if (part.case === "trailer") trailer = part.value;
    }
  } catch (caught) {
    if (!(caught instanceof ConnectError)) throw caught;
    error = caught;
  }
  return { order, head, text: Buffer.concat(chunks).toString(), trailer, error };
}

/** The error of an answer that never began. */
async function refused(
  clients: Clients,
  request: InferRequest,
  call = as(KEYS.caller),
): Promise<ConnectError> {
  const { order, error } = await infer(clients, request, call);
  expect(order).toEqual([]);
  if (error === undefined) throw new Error("it was not refused");
  return error;
}

const headerOf = (head: Head | undefined, name: string): string | undefined =>
  head?.headers.find((header) => header.name === name)?.value;

const STREAMED = sse([
  ROLE,
  NEXT,
  CH({ content: "he" }),
  NEXT,
  CH({ content: "llo" }),
  CH({}, "stop"),
  USAGE(3, 2),
  DONE,
]);
const NATIVE = "/v1/systemone";
/** A deadline that the provider is still reached within on a busy machine. */
const SOON_MS = 400;
const BEGUN = [ROLE, CH({ content: "first" })];

const answers: ContractCase[] = [
  {
    title: "head, chunks, trailer: the provider's bytes, its usage and the cost",
    run: async (clients, { a }) => {
      const got = await infer(clients, chat());
      expect(got.order).toEqual(["head", "chunk", "trailer"]);
      expect(got.head?.status).toBe(200);
      expect(headerOf(got.head, "content-type")).toBe("application/json");
      expect(headerOf(got.head, "x-ants-attempts")).toContain("a/m-a");
      expect(JSON.parse(got.text)).toMatchObject({ choices: [{ message: { content: "a" } }] });
      expect(got.trailer).toMatchObject({
        usage: { input: 3n, output: 2n },
        deployment: "a/m-a",
        group: "chat",
        model: "up-model",
      });
      expect(got.trailer?.costUsd).toBeCloseTo(7e-6, 12);
      expect(a.calls[0]?.json()).toMatchObject({ model: "m-a" });
    },
  },
  {
    title: "P4: a stream comes in order; usage that the caller did not ask for stays in the trailer",
    run: async (clients, { a }) => {
      a.answer(STREAMED);
      const got = await infer(clients, chat({ stream: true }));
      expect(got.order).toEqual(["head", "chunk", "trailer"]);
      expect(headerOf(got.head, "content-type")).toContain("text/event-stream");
      expect(got.text).toBe(
        `${ROLE}${CH({ content: "he" })}${CH({ content: "llo" })}${CH({}, "stop")}${DONE}`,
      );
      expect(got.trailer?.usage).toMatchObject({ input: 3n, output: 2n });
      expect(got.trailer?.costUsd).toBeCloseTo(7e-6, 12);
    },
  },
  {
    title: "without a price there is no cost",
    run: async (clients) => {
      const { trailer } = await infer(clients, chat({ model: "solo" }));
      expect(trailer?.usage).toMatchObject({ input: 3n, output: 2n });
      expect(trailer?.costUsd).toBeUndefined();
    },
  },
  {
    title: "a body of megabytes reaches the provider whole",
    run: async (clients, { a }) => {
      const content = "wort ".repeat(400_000);
      await infer(clients, chat({ messages: [{ role: "user", content }] }));
      expect(a.calls[0]?.json()).toMatchObject({ messages: [{ content }] });
    },
  },
  {
    title: "E3, H1: fails over before the head",
    run: async (clients, { a }) => {
      a.answer(BROKEN);
      const got = await infer(clients, chat());
      expect([got.head?.status, got.trailer?.deployment]).toEqual([200, "b/m-b"]);
      expect(headerOf(got.head, "x-ants-attempts")).toMatch(/a\/m-a.*b\/m-b/s);
    },
  },
  {
    title: "P1: a native endpoint is forwarded as it is, once, and its answer passes as it comes",
    run: async (clients, { a, b }) => {
      const body = '{ "q":1.50, "model":"chat" }';
      const request = chat({}, { path: NATIVE });
      request.body = new TextEncoder().encode(body);
      const lines = [
        "data: odd\n\n",
        'data: {"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n',
      ] as const;
      a.answer(sse([lines[0], NEXT, lines[1]]));
      const got = await infer(clients, request);
      expect([got.order, got.head?.status, got.text]).toEqual([
        ["head", "chunk", "trailer"],
        200,
        lines.join(""),
      ]);
      expect(got.trailer).toMatchObject({ deployment: "a/m-a", usage: { input: 3n, output: 2n } });
      expect(got.trailer?.costUsd).toBeCloseTo(7e-6, 12);
      expect([a.calls[0]?.path, a.calls[0]?.body.toString()]).toEqual([NATIVE, body.replace("chat", "m-a")]);
      a.answer(BROKEN);
      expect((await infer(clients, request)).head?.status).toBe(500);
      expect([a.calls.length, b.calls.length]).toEqual([2, 0]);
    },
  },
  {
    title: "E7: what a provider answered is a head with its status, errors included",
    run: async (clients, { a }) => {
      a.answer(failure(400, { message: "bad tool", type: "invalid_request_error" }));
      const got = await infer(clients, chat({ model: "solo" }));
      expect([got.error, got.order, got.head?.status]).toEqual([
        undefined,
        ["head", "chunk", "trailer"],
        400,
      ]);
      expect(got.trailer).toMatchObject({ deployment: "", group: "" });
      expect(JSON.parse(got.text)).toMatchObject({ error: { message: "bad tool" } });
      expect(headerOf(got.head, "x-ants-attempts")).toContain("a/m-a");
    },
  },
  {
    title: "lists the models of the key",
    run: async (clients) => {
      const request = create(InferRequestSchema, { method: "GET", path: "/v1/models" });
      const { order, head, text } = await infer(clients, request);
      expect([order, head?.status]).toEqual([["head", "chunk", "trailer"], 200]);
      expect(JSON.parse(text)).toMatchObject({ data: [{ id: "chat" }, { id: "solo" }, { id: "fragile" }] });
    },
  },
];

const refusals: ContractCase[] = [
  {
    title: "what Switchyard refuses is an RPC error with its code and status",
    run: async (clients, { a, b }) => {
      const cases: [InferRequest, CallContext, Code, string, number][] = [
        [chat(), as(""), Code.Unauthenticated, "invalid_api_key", 401],
        [chat(), as("nobody"), Code.Unauthenticated, "invalid_api_key", 401],
        [chat({ model: "solo" }), as(KEYS.narrow), Code.PermissionDenied, "model_not_allowed", 403],
        [chat({}, { path: "/v1/nothing" }), as(KEYS.caller), Code.NotFound, "not_found", 404],
        [chat({}, { path: NATIVE }), as("nobody"), Code.Unauthenticated, "invalid_api_key", 401],
        [
          chat({}, { path: NATIVE, method: "GET" }),
          as(KEYS.caller),
          Code.InvalidArgument,
          "method_not_allowed",
          405,
        ],
        [
          chat({}, { path: "/v1/elsewhere" }),
          as(KEYS.caller),
          Code.InvalidArgument,
          "endpoint_not_supported",
          400,
        ],
      ];
      for (const [request, call, code, reason, status] of cases) {
        const error = await refused(clients, request, call);
        expect(error.code).toBe(code);
        expectInfo(error, reason, status);
      }
      expect([a.calls.length, b.calls.length]).toEqual([0, 0]);
    },
  },
  {
    title: "a body that is no JSON object is refused",
    run: async (clients) => {
      const body = new TextEncoder().encode("{");
      const request = create(InferRequestSchema, { method: "POST", path: "/v1/chat/completions", body });
      const error = await refused(clients, request);
      expect(error.code).toBe(Code.InvalidArgument);
      expectInfo(error, "invalid_json", 400);
    },
  },
  {
    title: "a key unknown to the router gets no models",
    run: async (clients) => {
      const request = create(InferRequestSchema, { method: "GET", path: "/v1/models" });
      expectInfo(await refused(clients, request, as("nobody")), "invalid_api_key", 401);
    },
  },
  {
    title: "H1: when nobody answered, the error before the head tells the attempts",
    run: async (clients, { a, b }) => {
      a.answer(RESET);
      b.answer(RESET);
      const error = await refused(clients, chat());
      expect(error.code).toBe(Code.Unavailable);
      expectInfo(error, "upstream_unreachable", 502);
      expect(infoOf(error).metadata["attempts"]).toMatch(/a\/m-a.*b\/m-b/s);
    },
  },
  {
    title: "a broken rule of the schema is named by its field",
    on: "wire",
    run: async (clients) => {
      const broken: [Partial<InferRequest>, string][] = [
        [{ path: "no-slash" }, "path"],
        [{ method: "M".repeat(17) }, "method"],
        [{ path: "/x", requestId: "r".repeat(129) }, "request_id"],
        [{ path: "/x", headers: [{ name: "", value: "v" }] as never }, "headers[0].name"],
      ];
      for (const [init, field] of broken) {
        const error = await refused(clients, create(InferRequestSchema, init as never));
        expect([error.code, error.rawMessage]).toEqual([
          Code.InvalidArgument,
          expect.stringContaining(field),
        ]);
        expectInfo(error, "invalid_request", 400);
      }
    },
  },
];

const ends: ContractCase[] = [
  {
    title:
      "E6: a provider's error event inside a stream goes on as it is, and the answer ends with its trailer",
    run: async (clients, { a }) => {
      a.answer(sse([...BEGUN, NEXT, 'data: {"error":{"message":"busy","type":"overloaded_error"}}\n\n']));
      const got = await infer(clients, chat({ stream: true }));
      expect([got.error, got.order.at(-1), got.head?.status]).toEqual([undefined, "trailer", 200]);
      expect(got.text).toContain("overloaded_error");
      expect(got.trailer).toMatchObject({ deployment: "a/m-a" });
    },
  },
  {
    title: "a stream that breaks after its head ends with an RPC error",
    run: async (clients, { a }) => {
      a.answer(sse([...BEGUN, wait(30), RST]));
      const got = await infer(clients, chat({ stream: true }));
      expect(got.order).toEqual(["head", "chunk"]);
      expect(got.text).toContain("first");
      expect(got.error?.code).toBe(Code.Unavailable);
      expectInfo(got.error as ConnectError, "upstream_invalid_response", 502);
    },
  },
  {
    title: "BH-18: a caller that leaves in the middle of a stream ends the provider's socket",
    run: async (clients, { a }) => {
      a.answer(sse([...BEGUN, HANG]));
      const call = as(KEYS.caller);
      const parts = start(clients, chat({ stream: true }), call);
      expect((await parts.next()).value?.part.case).toBe("head");
      call.cancel();
      await eventually(() => expect(a.calls[0]?.closedHow).toBe("client"));
      await parts.return(undefined);
    },
  },
  {
    title: "BH-18: a caller that leaves before the head ends the provider's socket",
    run: async (clients, { a, decisions }) => {
      a.answer(SILENT);
      const call = as(KEYS.caller);
      const done = infer(clients, chat(), call);
      await a.waitForCalls(1);
      call.cancel();
      expect((await done).error?.code).toBe(Code.Canceled);
      await eventually(() => expect(a.calls[0]?.closedHow).toBe("client"));
      expect(decisions.length).toBeLessThanOrEqual(1);
    },
  },
  {
    title: "the caller's deadline goes on to Decide, bounds the attempt and ends it",
    run: async (clients, stage) => {
      stage.a.answer(SILENT);
      stage.b.answer(SILENT);
      const got = await refused(clients, chat(), as(KEYS.caller, Date.now() + SOON_MS));
      expect(got.code).toBe(Code.DeadlineExceeded);
      const [{ request, response, deadline } = { request: undefined, response: undefined, deadline: 0 }] =
        stage.decisions;
      expect(Number(request?.facts?.deadlineMs)).toBeLessThanOrEqual(SOON_MS);
      expect(deadline).toBeGreaterThan(0);
      const timeoutMs = response?.decision.case === "attempt" ? Number(response.decision.value.timeoutMs) : 0;
      expect(timeoutMs).toBeGreaterThan(0);
      expect(timeoutMs).toBeLessThanOrEqual(SOON_MS);
      await eventually(() => expect(stage.a.calls[0]?.closedHow).toBe("client"));
    },
  },
  {
    title: "the caller's deadline ends a stream that has begun",
    on: "wire",
    run: async (clients, { a }) => {
      a.answer(sse([...BEGUN, HANG]));
      const got = await infer(clients, chat({ stream: true }), as(KEYS.caller, Date.now() + SOON_MS));
      expect([got.order[0], got.error?.code]).toEqual(["head", Code.DeadlineExceeded]);
      await eventually(() => expect(a.calls[0]?.closedHow).toBe("client"));
    },
  },
];

export const inferContract: MethodContract = {
  method: InferenceService.method.infer,
  cases: [...answers, ...refusals, ...ends],
};

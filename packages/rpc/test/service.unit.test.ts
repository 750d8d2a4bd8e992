import { create } from "@bufbuild/protobuf";
import {
  type InferenceService,
  InferRequestSchema,
  type InferResponse,
  InferResponseSchema,
} from "@switchyard/proto/inference/v1/inference_service";
import {
  DecideRequestSchema,
  DecideResponseSchema,
  ExplainResponseSchema,
  ListGroupsResponseSchema,
  type RoutingService,
} from "@switchyard/proto/routing/v1/routing_service";
import { expect, test } from "vitest";
import { CallContext, Code, failure, readFailure, readStream, type ServiceImpl } from "../src/index.ts";

test("a service is a plain object that its callers call", async () => {
  const routing: ServiceImpl<typeof RoutingService> = {
    decide: (_request, call) => create(DecideResponseSchema, { keyName: call.header("authorization") ?? "" }),
    explain: async () => create(ExplainResponseSchema),
    listGroups: () => create(ListGroupsResponseSchema),
  };
  const call = new CallContext({ headers: { authorization: "Bearer x" } });
  const answer = await routing.decide(create(DecideRequestSchema, { explain: true }), call);
  expect(answer.keyName).toBe("Bearer x");
});

test("a server stream is read as an iterable, and a reader that leaves says so", async () => {
  const inference: Pick<ServiceImpl<typeof InferenceService>, "infer"> = {
    infer(request, sink) {
      for (let i = 0; i < 40; i += 1) {
        sink.send(create(InferResponseSchema, { part: { case: "chunk", value: request.body } }));
      }
      sink.end();
    },
  };
  const call = new CallContext();
  const request = create(InferRequestSchema, { body: new Uint8Array(3) });
  const got: InferResponse[] = [];
  for await (const m of readStream<InferResponse>((sink) => inference.infer(request, sink, call)))
    got.push(m);
  expect(got).toHaveLength(40);
  for await (const _ of readStream<InferResponse>((sink) => inference.infer(request, sink, call), {
    onLeave: () => call.cancel(),
  })) {
    break;
  }
  expect(call.cancelled).toBe(true);
});

test("a failure keeps its code, status and metadata", () => {
  const error = failure("rate_limit_exceeded", "too many requests", {
    status: 429,
    metadata: { retry_after_ms: "5" },
  });
  expect(error.code).toBe(Code.ResourceExhausted);
  expect(readFailure(error)).toEqual({
    code: "rate_limit_exceeded",
    status: 429,
    message: "too many requests",
    connectCode: Code.ResourceExhausted,
    metadata: { retry_after_ms: "5" },
  });
});

test("the text of a foreign error is not repeated", () => {
  expect(readFailure(new Error("secret")).message).toBe("internal error");
});

test("a child follows its parent's leaving and earlier deadline until it is released", () => {
  const parent = new CallContext({ deadline: 100 });
  const child = new CallContext({ parent, deadline: 200 });
  const released = new CallContext({ parent });
  released.release();
  let told = 0;
  child.onCancel(() => (told += 1));
  parent.cancel();
  parent.cancel();
  expect([child.deadline, child.cancelled, child.signal.aborted, released.cancelled, told]).toEqual([
    100,
    true,
    true,
    false,
    1,
  ]);
});

import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import { createValidator } from "@bufbuild/protovalidate";
import { ViolationsSchema } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import {
  BenchRequestSchema,
  ReportOutcomesRequestSchema,
  UnbenchRequestSchema,
} from "@switchyard/proto/health/v1/health_state_service";
import type { ErrorClass } from "@switchyard/proto/config/v1/policy";
import { InferRequestSchema } from "@switchyard/proto/inference/v1/inference_service";
import { DecideRequestSchema } from "@switchyard/proto/routing/v1/routing_service";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Code, ConnectError, readFailure } from "../src/index.ts";
import { compileMessage, createRequestCheck } from "../src/server/validate.ts";

const validator = createValidator();
const judge = (schema: DescMessage, message: Message): string => validator.validate(schema, message).kind;

const text = (edge: number) =>
  fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 5 }),
    fc.integer({ min: edge - 1, max: edge + 1 }).map((n) => "x".repeat(Math.max(0, n))),
    fc.integer({ min: edge - 1, max: edge + 1 }).map((n) => "🚃".repeat(Math.max(0, n))),
  );

const name = fc.oneof(fc.constant(""), fc.string({ maxLength: 3 }));
const scope = fc.oneof(
  fc.constant(undefined),
  name.map((value) => ({ case: "provider" as const, value })),
  fc.record({ group: name, deployment: name }).map((value) => ({ case: "deployment" as const, value })),
);
const cases: [DescMessage, fc.Arbitrary<Message>][] = [
  [
    InferRequestSchema,
    fc
      .record({
        method: text(16),
        path: text(10).map((t) => `/${t}`.slice(t.length % 2)),
        requestId: text(128),
        headers: fc.array(fc.record({ name: text(256), value: name }), { maxLength: 3 }),
      })
      .map((init) => create(InferRequestSchema, init)),
  ],
  [
    InferRequestSchema,
    fc
      .integer({ min: 250, max: 260 })
      .map((n) =>
        create(InferRequestSchema, { path: "/", headers: Array.from({ length: n }, () => ({ name: "a" })) }),
      ),
  ],
  [
    DecideRequestSchema,
    fc
      .record({
        facts: fc.option(
          fc.record({ id: text(128), path: text(2), model: text(4096), ownKeyProvider: text(128) }),
          { nil: undefined },
        ),
        failed: fc.option(fc.record({ error: fc.integer({ min: 0, max: 40 }) as fc.Arbitrary<ErrorClass> }), {
          nil: undefined,
        }),
      })
      .map(({ facts, failed }) =>
        create(DecideRequestSchema, { ...(facts && { facts }), ...(failed && { failed }) }),
      ),
  ],
  [
    UnbenchRequestSchema,
    fc
      .option(scope, { nil: null })
      .map((target) =>
        create(
          UnbenchRequestSchema,
          target === null ? {} : { scope: target === undefined ? {} : { target } },
        ),
      ),
  ],
  [
    BenchRequestSchema,
    fc.bigInt({ min: -1n, max: 3_000_000n }).map((seconds) =>
      create(BenchRequestSchema, {
        scope: { target: { case: "provider", value: "a" } },
        duration: { seconds },
      }),
    ),
  ],
  [
    ReportOutcomesRequestSchema,
    fc
      .integer({ min: 0, max: 3 })
      .map((n) => create(ReportOutcomesRequestSchema, { outcomes: Array.from({ length: n }, () => ({})) })),
  ],
];

describe("validation", () => {
  test.each(cases.map(([schema, messages]) => ({ name: schema.name, schema, messages })))(
    "$name: what is let through quickly is valid, and refused is what protovalidate refuses",
    ({ schema, messages }) => {
      const surelyValid = compileMessage(schema);
      const check = createRequestCheck(schema);
      fc.assert(
        fc.property(messages, (message) => {
          const valid = judge(schema, message) === "valid";
          if (surelyValid(message)) expect(valid).toBe(true);
          let refused: unknown;
          try {
            check(message);
          } catch (error) {
            refused = error;
          }
          expect(refused === undefined).toBe(valid);
          if (refused !== undefined) expect(refused).toMatchObject({ code: Code.InvalidArgument });
        }),
        { numRuns: 300 },
      );
    },
  );

  test("hot requests take the quick way", () => {
    const infer = create(InferRequestSchema, {
      path: "/v1/chat/completions",
      headers: [{ name: "a", value: "b" }],
    });
    const decide = create(DecideRequestSchema, { facts: { id: "r", model: "chat" }, failed: { error: 1 } });
    expect([compileMessage(InferRequestSchema)(infer), compileMessage(DecideRequestSchema)(decide)]).toEqual([
      true,
      true,
    ]);
  });

  test("what is refused says where and why", () => {
    const check = createRequestCheck(InferRequestSchema);
    try {
      check(create(InferRequestSchema, { path: "x" }));
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(ConnectError);
      expect((error as ConnectError).rawMessage).toContain("path");
      expect(readFailure(error)).toMatchObject({ code: "invalid_request", status: 400 });
      expect((error as ConnectError).findDetails(ViolationsSchema)[0]?.violations).toHaveLength(1);
    }
  });
});

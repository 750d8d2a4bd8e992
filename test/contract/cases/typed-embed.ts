import { create } from "@bufbuild/protobuf";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { EmbedRequestSchema, InferenceService } from "@switchyard/proto/inference/v1/inference_service";
import { Code } from "@switchyard/rpc";
import { embeddings, eventually, SILENT } from "@switchyard/testkit";
import { expect } from "vitest";
import { as, caught, expectInfo, infoOf } from "../contract-case.ts";
import type { ContractCase, MethodContract } from "../contract-case.ts";
import { KEYS } from "../stage.ts";
import { BAD_TOOL, expectBroken } from "./typed.ts";

const embedding = (more: MessageInitShape<typeof EmbedRequestSchema> = {}) =>
  create(EmbedRequestSchema, { model: "chat", input: ["x", "y"], ...more });

const embedCases: ContractCase[] = [
  {
    title: "vectors in the texts' order, with usage and who served",
    run: async ({ inference }, { a }) => {
      for (const base64 of [false, true]) {
        const vectors = [
          [0.5, -1],
          [0.25, 2],
        ];
        a.answer(embeddings(vectors, { base64 }));
        const got = await inference.embed(embedding({ dimensions: 2 }), as(KEYS.caller));
        expect(got).toMatchObject({
          model: "up-model",
          embeddings: [{ values: [0.5, -1] }, { index: 1, values: [0.25, 2] }],
          usage: { input: 2n },
          deployment: "a/m-a",
          group: "chat",
          attempts: [{ deployment: "a/m-a", outcome: "ok" }],
        });
      }
      expect(a.calls[0]?.json()).toEqual({ model: "m-a", input: ["x", "y"], dimensions: 2 });
    },
  },
  {
    title: "E7: a provider's error is an RPC error with its code, status and attempts",
    run: async ({ inference }, { a }) => {
      a.answer(BAD_TOOL);
      const error = await caught(() => inference.embed(embedding({ model: "solo" }), as(KEYS.caller)));
      expectInfo(error, "bad_tool", 400);
      expect(infoOf(error).metadata["attempts"]).toContain("a/m-a");
    },
  },
  {
    title: "what Switchyard refuses keeps its code",
    run: async ({ inference }) => {
      expectInfo(await caught(() => inference.embed(embedding(), as("nobody"))), "invalid_api_key", 401);
    },
  },
  {
    title: "a broken rule of the schema is named by its field",
    on: "wire",
    run: async ({ inference }) => {
      const broken: [MessageInitShape<typeof EmbedRequestSchema>, string][] = [
        [{ model: "" }, "model"],
        [{ input: [] }, "input"],
        [{ dimensions: 0 }, "dimensions"],
      ];
      for (const [more, field] of broken) {
        expectBroken(await caught(() => inference.embed(embedding(more), as(KEYS.caller))), field);
      }
    },
  },
  {
    title: "BH-18: a caller that leaves ends the provider's socket",
    run: async ({ inference }, { a }) => {
      a.answer(SILENT);
      const call = as(KEYS.caller);
      const done = caught(() => inference.embed(embedding(), call));
      await a.waitForCalls(1);
      call.cancel();
      expect((await done).code).toBe(Code.Canceled);
      await eventually(() => expect(a.calls[0]?.closedHow).toBe("client"));
    },
  },
];

export const embedContract: MethodContract = { method: InferenceService.method.embed, cases: embedCases };

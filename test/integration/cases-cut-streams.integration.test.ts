import { expect, it } from "vitest";
import { AE, CH, data, EOF, HANG, paced, FLUSH, G, HEALTHY, raw, ROLE, RST, sse } from "@switchyard/testkit";
import type { Answer, Step } from "@switchyard/testkit";
import { forEachForm } from "../support/gateway-stage.ts";
import type { Scene, SceneSpec } from "../support/gateway-scene.ts";
import { event, pending } from "../support/responses.ts";
import { FAMILIES } from "../support/translation-cases.ts";
import { frame } from "../support/vendors/converse.ts";

const CLOCKS = { first_token_timeout: "1s", stream_idle_timeout: "1s" };
const HALF = "Half an ans";
const PATHS = ["/v1/chat/completions", "/v1/messages", "/v1/responses"] as const;
type Path = (typeof PATHS)[number];

interface Cut {
  /** A of that family, and B that speaks chat. */
  readonly spec: SceneSpec;
  /** What comes before a caller can see anything, and what shows the text; neither ends the answer. */
  readonly begun: string | Buffer;
  readonly shown: string | Buffer;
  /** The family's own event that says that it is overloaded. */
  readonly overloaded: string | Buffer;
  readonly of: (steps: readonly Step[]) => Answer;
  /** Callers that the family serves. */
  readonly paths: readonly Path[];
}

const frames = (steps: readonly Step[]): Answer =>
  raw(200, { "Content-Type": "application/vnd.amazon.eventstream" }, steps);

/** The family's account as A, with B behind it. */
const before = (spec: SceneSpec): SceneSpec => ({ ...spec, order: ["A", "B"] });

const CUTS: Readonly<Record<string, Cut>> = {
  chat: {
    spec: before(FAMILIES.oai),
    begun: ROLE,
    shown: CH({ content: HALF }, null),
    overloaded: data({ error: { message: "Overloaded", type: "overloaded_error", code: null } }),
    of: sse,
    paths: PATHS,
  },
  Anthropic: {
    spec: before(FAMILIES.anth),
    begun: AE("message_start", {
      type: "message_start",
      message: { id: "m", type: "message", role: "assistant", content: [], usage: { input_tokens: 1 } },
    }),
    shown:
      AE("content_block_start", {
        type: "content_block_start",
        index: 0,
        content_block: { type: "text", text: "" },
      }) +
      AE("content_block_delta", {
        type: "content_block_delta",
        index: 0,
        delta: { type: "text_delta", text: HALF },
      }),
    overloaded: AE("error", {
      type: "error",
      error: { type: "overloaded_error", message: "Overloaded" },
    }),
    of: sse,
    paths: PATHS,
  },
  Bedrock: {
    spec: before(FAMILIES.bedrock),
    begun: frame("messageStart", { role: "assistant" }),
    shown: frame("contentBlockDelta", { contentBlockIndex: 0, delta: { text: HALF } }),
    overloaded: frame("serviceUnavailableException", { message: "Overloaded" }, "exception"),
    of: frames,
    paths: PATHS,
  },
  Gemini: {
    spec: before(FAMILIES.gemini),
    begun: G({ candidates: [{ index: 0, content: { role: "model", parts: [{ text: "" }] } }] }),
    shown: G({ candidates: [{ index: 0, content: { role: "model", parts: [{ text: HALF }] } }] }),
    overloaded: G({ error: { code: 503, message: "Overloaded", status: "UNAVAILABLE" } }),
    of: sse,
    paths: PATHS,
  },
  Responses: {
    spec: before({ providers: { A: { family: "openai" } } }),
    begun: event("response.created", { sequence_number: 0, response: pending("resp_1") }),
    shown: event("response.output_text.delta", { sequence_number: 1, delta: HALF }),
    overloaded: event("error", {
      sequence_number: 1,
      error: { type: "service_unavailable_error", code: "server_is_overloaded", message: "Overloaded" },
    }),
    of: sse,
    paths: ["/v1/responses"],
  },
};

/** Signs of an answer that is whole, in any dialect. */
const ENDS = /\[DONE\]|"finish_reason":"|message_stop|end_turn|response\.completed|"stop_reason":"/u;
const FAILS: Readonly<Record<Path, RegExp>> = {
  "/v1/chat/completions": /^data: \{"error":\{.*"type":"/mu,
  "/v1/messages": /event: error\ndata: \{"type":"error","error":\{"type":"/u,
  "/v1/responses": /"type":"(?:error|response\.failed)"/u,
};

async function ask(scene: Scene, path: Path): Promise<{ status: number; text: string }> {
  const fields =
    path === "/v1/responses" ? { messages: undefined, input: "hi", store: false } : { max_tokens: 9 };
  const got = await scene.send({ stream: true, ...fields }, { path });
  return { status: got.status, text: await got.text() };
}

forEachForm("streams that are cut", {}, (stage) => {
  const cases = Object.entries(CUTS).flatMap(([name, cut]) =>
    cut.paths.map((path) => [name, path, cut] as const),
  );

  it.concurrent.for(cases)(
    "BH-16, E6: after text of %s a caller of %s is told, and nobody else is asked",
    async ([, path, { spec, begun, shown, of }]) => {
      for (const end of [EOF, RST]) {
        await using scene = await stage.scene(spec);
        scene.A.answer(of([begun, FLUSH, shown, FLUSH, end]));
        scene.B.answer(HEALTHY("from b"));
        const { status, text } = await ask(scene, path);
        expect(status).toBe(200);
        expect(text).toContain(HALF);
        expect(text).toMatch(FAILS[path]);
        expect(text).not.toMatch(ENDS);
        expect(text).not.toContain("from b");
        expect(scene.counts).toEqual({ A: 1, B: 0 });
        expect((await ask(scene, path)).text).toContain("from b");
        expect(scene.counts).toEqual({ A: 1, B: 1 });
      }
    },
  );

  it.concurrent.for(cases)(
    "BH-05, E6: %s that opens with an overload lets another serve a caller of %s; alone it is a plain error",
    async ([, path, { spec, begun, overloaded, of }]) => {
      for (const steps of [
        [overloaded, EOF],
        [begun, FLUSH, overloaded, EOF],
      ]) {
        await using scene = await stage.scene(spec);
        scene.A.answer(of(steps));
        scene.B.answer(HEALTHY("from b"));
        for (const calls of [1, 2]) {
          const { status, text } = await ask(scene, path);
          expect(status).toBe(200);
          expect(text).toContain("from b");
          expect(text).not.toMatch(FAILS[path]);
          expect(scene.counts).toEqual({ A: 1, B: calls });
        }
        await using alone = await stage.scene({ ...spec, order: ["A"] });
        alone.A.answer(of(steps));
        const refused = await ask(alone, path);
        expect([503, 529]).toContain(refused.status);
        expect(JSON.parse(refused.text)).toMatchObject({ error: { message: "Overloaded" } });
      }
    },
  );

  it.concurrent.for(cases)(
    "BH-16, E6: before text of %s another serves a caller of %s",
    async ([, path, { spec, begun, of }]) => {
      for (const steps of [[EOF], [begun, FLUSH, EOF], [begun, FLUSH, RST]] as const) {
        await using scene = await stage.scene(spec);
        scene.A.answer(of(steps));
        scene.B.answer(HEALTHY("from b"));
        const { status, text } = await ask(scene, path);
        expect(status).toBe(200);
        expect(text).toContain("from b");
        expect(text).not.toMatch(FAILS[path]);
        expect(scene.counts).toEqual({ A: 1, B: 1 });
      }
    },
  );

  it.concurrent.for(cases)(
    "BH-41, E5: %s that only begins, or falls silent, keeps no caller of %s waiting",
    async ([name, path, { spec, begun, shown, of }]) => {
      const policy = { ...CLOCKS, bench: { failures: 0 } };
      await using scene = await stage.scene({ ...spec, policy });
      // Signs of life are no token.
      const alive = name === "Anthropic" ? AE("ping", { type: "ping" }) : ": ping\n\n";
      const pings =
        of === sse
          ? paced(
              250,
              Array.from({ length: 12 }, () => alive),
            )
          : [];
      scene.A.answer(of([begun, FLUSH, ...pings, HANG]));
      scene.B.answer(HEALTHY("from b"));
      let began = performance.now();
      expect((await ask(scene, path)).text).toContain("from b");
      expect(performance.now() - began).toBeGreaterThan(950);
      expect(performance.now() - began).toBeLessThan(2_500);
      expect(scene.counts).toEqual({ A: 1, B: 1 });
      scene.A.answer(of([begun, FLUSH, shown, FLUSH, HANG]));
      began = performance.now();
      const { text } = await ask(scene, path);
      expect(performance.now() - began).toBeLessThan(2_500);
      expect(text).toContain(HALF);
      expect(text).toMatch(FAILS[path]);
      expect(text).not.toMatch(ENDS);
      expect(scene.counts).toEqual({ A: 2, B: 1 });
    },
  );
});

import { toBinary, create } from "@bufbuild/protobuf";
import { StoredResponseSchema } from "@switchyard/proto/events/v1/events";
import { originOf } from "@switchyard/providers";
import { readFailure } from "@switchyard/rpc";
import { afterEach, describe, expect, it, vi } from "vitest";
import { attempt, refuse } from "./fakes.ts";
import { createStage } from "./stage.ts";

const PATH = "/v1/responses";
const ORDER = { askedGroupKey: "p/asked", groupKey: "p/served" };
const MADE = JSON.stringify({ id: "resp_1", status: "completed", output: [{ type: "message" }] });
const KEPT = { provider: "d", groupKey: "p/asked", servedBy: "p/served" };

const body = (fields: object): string => JSON.stringify({ model: "g", input: "hi", ...fields });

afterEach(() => {
  vi.useRealTimers();
});

describe("P8 stored responses", () => {
  it("what was made is found again by its id: for reading, and for going on", () => {
    const stage = createStage(attempt("d/m", ORDER));
    stage.ask({ path: PATH, body: body({}) });
    expect(stage.decides[0]?.facts?.store).toBe(true);
    expect(stage.decides[0]?.facts?.kept).toBeUndefined();
    stage.upstream.at(0).answer(200, MADE);
    stage.ask({ path: `${PATH}/resp_1/input_items`, method: "GET", body: "" });
    expect(stage.decides[1]?.facts).toMatchObject({ kept: KEPT, store: false, model: "" });
    const { request } = stage.upstream.at(1);
    expect([request.method, request.path]).toEqual(["GET", "/v1/responses/resp_1/input_items"]);
    stage.ask({ path: PATH, body: body({ previous_response_id: "resp_1" }) });
    expect(stage.decides[2]?.facts).toMatchObject({ kept: KEPT });
  });

  it("a stream's is remembered as soon as it is served", () => {
    const stage = createStage(attempt("d/m", ORDER));
    stage.ask({ path: PATH, body: body({ stream: true }) });
    const created = { type: "response.created", response: { id: "resp_1", conversation: { id: "conv_1" } } };
    const delta = { type: "response.output_text.delta", delta: "x" };
    stage.upstream.at(0).stream();
    stage.upstream.at(0).data(`data: ${JSON.stringify(created)}\n\ndata: ${JSON.stringify(delta)}\n\n`);
    stage.ask({ path: PATH, body: body({ conversation: "conv_1" }) });
    expect(stage.decides[1]?.facts).toMatchObject({ kept: KEPT });
  });

  it("its items are found again by their own ids, those of a stream from its end on", async () => {
    const stage = createStage(attempt("d/m", ORDER));
    const [first, second] = ["rs_0123456789abcdef", "msg_0123456789abcdef"];
    const continuing = (...ids: string[]): string =>
      body({ input: [...ids.map((id) => ({ type: "item_reference", id })), { role: "user", content: "x" }] });
    stage.ask({ path: PATH, body: body({}) });
    stage.upstream.at(0).answer(200, MADE.replace('{"type"', `{"id":"${first}","type"`));
    stage.ask({ path: PATH, body: continuing(first, "msg_of_elsewhere_1") });
    await vi.advanceTimersByTimeAsync(1);
    expect(stage.decides[1]?.facts).toMatchObject({ kept: KEPT });
    const output = [{ id: second, type: "message" }];
    const completed = { type: "response.completed", response: { id: "resp_2", output } };
    stage.upstream.at(1).stream();
    stage.upstream
      .at(1)
      .data(`data: ${JSON.stringify(completed)}\n\n`)
      .end();
    stage.ask({ path: PATH, body: continuing(second) });
    expect(stage.decides[2]?.facts).toMatchObject({ kept: KEPT });
  });

  it("all that a request names is known to routing, whatever stands first and however much it is", async () => {
    const stage = createStage(attempt("d/m", ORDER));
    const store = stage.published.bus.keyValue("switchyard_responses");
    const put = (id: string, groupKey: string): Promise<unknown> =>
      store.put(id, toBinary(StoredResponseSchema, create(StoredResponseSchema, { ...KEPT, groupKey })));
    await put("msg_mine", "p/mine");
    await put("msg_theirs", "q/theirs");
    const asking = async (ids: string[], fields: object): Promise<object | undefined> => {
      const input = ids.map((id) => ({ type: "item_reference", id }));
      const before = stage.decides.length;
      stage.ask({ path: PATH, body: body({ input, ...fields }) });
      await vi.advanceTimersByTimeAsync(1);
      return stage.decides[before]?.facts?.kept;
    };
    const told = { provider: "d", groupKey: "p/mine", otherGroupKeys: ["q/theirs"] };
    expect(await asking(["msg_theirs", "msg_mine"], {})).toMatchObject(told);
    expect(await asking(["msg_theirs"], { previous_response_id: "msg_mine" })).toMatchObject(told);
    const many = Array.from({ length: 40 }, (_, at) => `msg_unknown_${at}`);
    expect(await asking(["msg_theirs", ...many, "msg_mine"], {})).toMatchObject(told);
    expect(await asking(["msg_mine", "msg_mine"], {})).toMatchObject({ otherGroupKeys: [] });
  });

  it("nobody remembers what is not kept", async () => {
    const stage = createStage(attempt("d/m", ORDER));
    stage.ask({ path: PATH, body: body({ store: false }) });
    stage.upstream.at(0).answer(200, MADE.replace("{", '{"store":false,'));
    stage.ask({ path: `${PATH}/resp_1`, method: "GET", body: "" });
    await vi.advanceTimersByTimeAsync(50);
    expect(stage.decides[1]?.facts?.kept).toMatchObject({ provider: "" });
  });

  it("an id from another replica is looked for in the store, and no longer than 50 ms", async () => {
    const stage = createStage(attempt("d/m", ORDER));
    const store = stage.published.bus.keyValue("switchyard_responses");
    await store.put("resp_2", toBinary(StoredResponseSchema, create(StoredResponseSchema, KEPT)));
    stage.ask({ path: `${PATH}/resp_2`, method: "DELETE", body: "" });
    await vi.advanceTimersByTimeAsync(1);
    expect(stage.decides[0]?.facts).toMatchObject({ kept: KEPT });

    const slow = createStage(attempt("d/m", ORDER));
    vi.spyOn(slow.published.bus.keyValue("switchyard_responses"), "get").mockReturnValue(
      new Promise(() => {}),
    );
    slow.ask({ path: `${PATH}/resp_2`, method: "GET", body: "" });
    await vi.advanceTimersByTimeAsync(51);
    expect(slow.decides).toHaveLength(1);
  });

  it("invariant 4: a response that is not there benches nobody, and its caller gets the provider's words", async () => {
    const stage = createStage(attempt("d/m", ORDER), refuse(502, "x", { exhausted: true }));
    stage.ask({ path: PATH, body: body({ previous_response_id: "resp_1" }) });
    await vi.advanceTimersByTimeAsync(51);
    const said = {
      error: { message: "not found", code: "previous_response_not_found", type: "invalid_request_error" },
    };
    stage.upstream.at(0).answer(404, JSON.stringify(said));
    expect(stage.decides[1]?.failed?.status).toBe(404);
    expect(stage.sink.attempts.map(({ error }) => error)).toEqual(["invalid_request"]);
    expect(stage.sink.head?.status).toBe(404);
  });

  it("a caller that leaves while its response is looked for costs no decision", async () => {
    const stage = createStage(attempt("d/m", ORDER));
    stage.ask({ path: `${PATH}/resp_9`, method: "GET", body: "" });
    stage.call.cancel();
    await vi.advanceTimersByTimeAsync(60);
    expect(stage.decides).toHaveLength(0);
  });

  it.each([
    ["GET", `${PATH}/resp_1/other`, 404],
    ["GET", `${PATH}/a%2Fb`, 404],
    ["GET", `${PATH}/..`, 404],
    ["POST", `${PATH}/resp_1`, 405],
    ["GET", `${PATH}/resp_1/cancel`, 405],
    ["GET", PATH, 405],
  ])("%s %s is %d", (method, path, status) => {
    const stage = createStage(attempt("d/m"));
    stage.ask({ method, path, body: "" });
    expect(readFailure(stage.sink.failed).status).toBe(status);
    expect(stage.upstream.exchanges).toHaveLength(0);
  });
});

describe("BH-31 origins", () => {
  const blob = (provider: string): object => ({
    type: "reasoning",
    encrypted_content: `sy1.${originOf(provider)}.ENC`,
  });

  it("routing is told who made what the request brings back, last", () => {
    const stage = createStage(attempt("d/m", { shared: true }));
    stage.ask({ path: PATH, body: body({ store: false, input: [blob("a"), blob("d")] }) });
    expect(stage.decides[0]?.facts?.originProvider).toBe("d");
    const sent = JSON.parse(
      Buffer.from(stage.upstream.at(0).request.body as Uint8Array).toString(),
    ) as object;
    expect(sent).toEqual({
      model: "m",
      store: false,
      input: [{ type: "reasoning", encrypted_content: "ENC" }],
    });
  });

  it("what another account compacted is refused for the moment, not sent", () => {
    const stage = createStage(attempt("d/m", { shared: true }));
    stage.ask({ path: PATH, body: body({ input: [{ ...blob("a"), type: "compaction" }] }) });
    const { status, code, metadata } = readFailure(stage.sink.failed);
    expect([status, code, metadata["retry_after_ms"]]).toEqual([503, "upstream_unavailable", "10000"]);
    expect(stage.upstream.exchanges).toHaveLength(0);
  });
});

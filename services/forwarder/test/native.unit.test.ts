import { Endpoint } from "@switchyard/proto/config/v1/config";
import { readFailure } from "@switchyard/rpc";
import { afterEach, describe, expect, it, vi } from "vitest";
import { attempt, EXHAUSTED, refuse } from "./fakes.ts";
import { createStage, ERROR_500, SECRET } from "./stage.ts";

const PATH = "/v1/systemone";
const A = attempt("a/m", { firstTokenTimeoutMs: 5n, timeoutMs: 50n, timeoutCoversBody: true });

afterEach(() => {
  vi.useRealTimers();
});

describe("a native endpoint", () => {
  it("is asked for by its path, and goes out as it came but for the model", () => {
    const stage = createStage(A);
    stage.ask({ path: PATH, body: '{ "model":"g","stream":true }' });
    expect(stage.decides[0]?.facts).toMatchObject({
      endpoint: Endpoint.NATIVE,
      path: PATH,
      model: "g",
      stream: true,
    });
    const { request } = stage.upstream.at(0);
    expect([request.method, request.path]).toEqual(["POST", PATH]);
    expect(Buffer.from(request.body as Uint8Array).toString()).toBe('{ "model":"m","stream":true }');
  });

  it("invariant 6: its answer is held by nobody and waited for by no clock of tokens", async () => {
    const stage = createStage(A);
    stage.ask({ path: PATH, body: '{"model":"g","stream":true}' });
    stage.upstream.at(0).stream();
    expect(stage.sink.head?.status).toBe(200);
    await vi.advanceTimersByTimeAsync(60_000);
    stage.upstream.at(0).data(": no event");
    expect(stage.sink.body).toBe(": no event");
    stage.sink.full = true;
    stage.upstream.at(0).data("x");
    expect(stage.upstream.at(0).paused).toBe(true);
    stage.sink.drain();
    expect(stage.upstream.at(0).paused).toBe(false);
    stage.upstream.at(0).end();
    expect([stage.sink.ends, stage.sink.trailer?.deployment]).toEqual([1, "a/m"]);
    await stage.close();
    expect(stage.published.outcomes).toEqual(["a/m=ok"]);
  });

  it("invariant 5: one that breaks has failed, and is over", async () => {
    const stage = createStage(A);
    stage.ask({ path: PATH });
    stage.upstream.at(0).head(200, ["content-type", "audio/mpeg"]).data("sound").error("body");
    expect(stage.sink.failed && readFailure(stage.sink.failed).code).toBe("upstream_invalid_response");
    expect(stage.decides).toHaveLength(1);
    await stage.close();
    expect(stage.published.outcomes).toEqual(["a/m=stream_error"]);
  });

  it("E7, P9: an error goes back as it is, without the secret that it quotes", async () => {
    const stage = createStage(A, EXHAUSTED);
    stage.ask({ path: PATH });
    stage.upstream.at(0).answer(418, `<b>${SECRET}</b>`, ["content-type", "text/html", "x-own", "1"]);
    expect([stage.sink.head?.status, stage.sink.body]).toEqual([418, "<b>[redacted]</b>"]);
    expect([stage.sink.header("content-type"), stage.sink.header("x-own")]).toEqual(["text/html", "1"]);
    await stage.close();
  });

  it.each([
    [404, "invalid_request"],
    [501, "invalid_request"],
    [500, "server_error"],
  ])("invariant 4: what %i tells of its deployment is %s", async (status, error) => {
    const stage = createStage(A, EXHAUSTED);
    stage.ask({ path: PATH });
    stage.upstream.at(0).answer(status, ERROR_500);
    await stage.close();
    expect(stage.published.outcomes).toEqual([`a/m=${error}`]);
  });

  it.each([
    ["nonsense", "invalid_json", undefined],
    ['{"model":[]}', "invalid_request", "model"],
  ])("R2: a body of %s is at fault where the key leaves a choice", (body, code, param) => {
    const stage = createStage(refuse(403, "model_not_allowed"));
    stage.ask({ path: PATH, body, headers: { "content-type": "text/plain" } });
    expect(stage.decides[0]?.facts?.model).toBe("");
    const failed = stage.sink.failed && readFailure(stage.sink.failed);
    expect([failed?.status, failed?.code, failed?.metadata["param"]]).toEqual([400, code, param]);
  });

  it("R1: another refusal stands, whatever the body is", () => {
    const stage = createStage(refuse(401, "invalid_api_key"));
    stage.ask({ path: PATH, body: "nonsense", headers: { "content-type": "text/plain" } });
    expect(stage.sink.failed && readFailure(stage.sink.failed).code).toBe("invalid_api_key");
  });

  it("R1: JSON that only others might read is refused before it is routed", () => {
    const stage = createStage(A);
    stage.ask({ path: PATH, body: '{"model":"other","x":NaN}', headers: { "Content-Type": "text/plain" } });
    stage.ask({ path: PATH, body: "nonsense" });
    expect(stage.decides).toHaveLength(0);
    expect(stage.sink.failed && readFailure(stage.sink.failed).code).toBe("invalid_json");
  });

  it.each([
    ["GET", PATH, "method_not_allowed"],
    ["POST", `${PATH}/more`, "not_found"],
  ])("contracts 3: %s %s is %s, and nobody decides on it", (method, path, code) => {
    const stage = createStage(A);
    stage.ask({ method, path });
    expect(stage.sink.failed && readFailure(stage.sink.failed).code).toBe(code);
    expect(stage.decides).toEqual([]);
  });

  it("H4: its trace is of the operation `native`", async () => {
    const stage = createStage(A);
    stage.ask({ path: PATH });
    stage.upstream.at(0).answer(200, '{"usage":{"prompt_tokens":3,"completion_tokens":2},"model":"m-1"}');
    expect(stage.tracer.request.start).toMatchObject({ route: PATH, operation: "native" });
    expect(stage.tracer.end).toMatchObject({ status: 200, model: "m-1" });
    await stage.close();
    expect(stage.published.usage).toMatchObject([{ usage: { input: 3n, output: 2n } }]);
  });
});

import { failure, readFailure } from "@switchyard/rpc";
import { afterEach, describe, expect, it, vi } from "vitest";
import { attempt, EXHAUSTED } from "./fakes.ts";
import { createStage, ERROR_EVENT, OK, PROMPT, SECRET, token } from "./stage.ts";
import type { Stage } from "./stage.ts";

afterEach(() => {
  vi.useRealTimers();
});

const A = attempt("a/m");
const OWN = "sk-own-key-of-the-caller";

/** Everything that a request leaves behind or hands out. */
async function traces(stage: Stage): Promise<string> {
  await stage.close();
  const { body: metrics } = await stage.metrics.render();
  const { sink, logger, published } = stage;
  const told = [sink.body, sink.head?.headers, sink.failed?.rawMessage, readFailure(sink.failed).metadata];
  return JSON.stringify([told, logger.lines, published.all, metrics]);
}

const FORMS = [SECRET, encodeURIComponent(SECRET), Buffer.from(SECRET).toString("base64")];

describe("a provider's credential", () => {
  it("P9, invariant 9: that the provider repeats goes no further", async () => {
    for (const form of FORMS) {
      const stage = createStage(A, EXHAUSTED);
      stage.ask();
      stage.upstream
        .at(0)
        .answer(400, `{"error":{"message":"no such thing at /v1?key=${form}"}}`, ["x-echo", `key ${form}`]);
      expect(stage.sink.head?.status).toBe(400);
      const all = await traces(stage);
      expect(all).toContain("no such thing");
      for (const one of FORMS) expect(all).not.toContain(one);
    }
  });

  it("P9: also not in an error inside a stream that has begun", async () => {
    const stage = createStage(A);
    stage.ask({ stream: true });
    stage.upstream
      .at(0)
      .stream()
      .data(token("x"))
      .data(ERROR_EVENT.replace("busy now", `bad ${SECRET}`));
    expect(stage.sink.body).toContain("bad [redacted]");
    expect(await traces(stage)).not.toContain(SECRET);
  });
});

describe("a caller's own key", () => {
  const headers = { "x-provider-key": `A=${OWN}` };

  it("E9: is used at its provider, is told to the router without its secret, and is nowhere else", async () => {
    const stage = createStage(A);
    stage.ask({ headers });
    expect(stage.decides[0]?.facts?.ownKeyProvider).toBe("a");
    expect(JSON.stringify(stage.decides[0]?.facts, (_, value) => String(value))).not.toContain(OWN);
    const sent = stage.upstream.at(0).request.headers;
    expect(sent).toContain(`Bearer ${OWN}`);
    expect(sent).not.toContain("x-provider-key");
    expect(JSON.stringify(sent)).not.toContain(SECRET);
    stage.upstream.at(0).answer(200, OK);
    expect(await traces(stage)).not.toContain(OWN);
  });

  it("E9: is sent to no other provider, whatever the router says", () => {
    const stage = createStage(attempt("b/m"));
    stage.ask({ headers });
    expect(stage.upstream.exchanges).toHaveLength(0);
    expect(readFailure(stage.sink.failed).code).toBe("invalid_provider_key");
  });

  it("E9: serves where the account itself has no credential", () => {
    const stage = createStage(attempt("c/m"));
    stage.ask({ headers: { "x-provider-key": `c=${OWN}` } });
    expect(stage.upstream.at(0).request.headers).toContain(`Bearer ${OWN}`);
  });

  it.each(["", "a", "=x", "a=", "a=x\r\nx-other: y", "a=ключ"])(
    "400 for %j, without repeating it",
    (value) => {
      const stage = createStage(A);
      stage.ask({ headers: { "x-provider-key": value } });
      const { status, code, message } = readFailure(stage.sink.failed);
      expect([status, code]).toEqual([400, "invalid_provider_key"]);
      if (value.length > 3) expect(message).not.toContain(value.slice(2));
      expect(stage.decides).toHaveLength(0);
    },
  );
});

describe("the log line", () => {
  it("H4: names strategy, chosen and next deployment, and who called", async () => {
    const stage = createStage(attempt("b/m", { next: "a/m" }));
    stage.ask();
    stage.upstream.at(0).answer(200, OK);
    expect(stage.logger.of("request")).toEqual([
      expect.objectContaining({
        request: "req_1",
        key: "key-name",
        team: "team-name",
        group: "g",
        strategy: "weighted",
        deployment: "b/m",
        next: "a/m",
        attempts: 1,
        status: 200,
        revision: 3,
      }),
    ]);
    await stage.close();
  });

  it("invariant 9: holds no prompt, no completion and no key, also when a provider quotes them", async () => {
    const quoting = `{"error":{"message":"I can't answer ${PROMPT}","type":"overloaded_error"}}`;
    const stage = createStage(A, EXHAUSTED);
    stage.ask({ stream: true });
    stage.upstream.at(0).stream().data(token("the-completion")).data(`data: ${quoting}\n\n`);
    await stage.close();
    const other = createStage(A, EXHAUSTED);
    other.ask();
    other.upstream.at(0).answer(500, quoting);
    await other.close();
    const lines = JSON.stringify([stage.logger.lines, other.logger.lines]);
    for (const word of [PROMPT, "the-completion", "ck-caller-key", SECRET]) expect(lines).not.toContain(word);
  });
});

describe("requests that are no POST to an endpoint", () => {
  it.each([
    ["GET", "/v1/chat/completions", 405],
    ["DELETE", "/v1/models", 405],
    ["HEAD", "/v1/messages", 405],
    ["GET", "/nowhere", 404],
    ["POST", "/v1/models", 405],
  ])("%s %s is %i", (method, path, status) => {
    const stage = createStage(A);
    stage.ask({ method, path });
    expect(readFailure(stage.sink.failed).status).toBe(status);
    expect(stage.logger.of("request")).toMatchObject([{ request: "req_1", status }]);
  });

  it("a body that is no JSON object is 400, and is not quoted", async () => {
    const stage = createStage(A);
    stage.ask({ body: `["${PROMPT}"` });
    expect(readFailure(stage.sink.failed)).toMatchObject({ status: 400, code: "invalid_json" });
    expect(await traces(stage)).not.toContain(PROMPT);
  });

  it("R1: the key comes first, whatever else is wrong; where no router tells, the fault is told", () => {
    const unknown = failure("invalid_api_key", "no valid key", { status: 401 });
    const away = failure("upstream_unavailable", "no router", { status: 503 });
    const told = [unknown, away].map((answer) => {
      const stage = createStage(A);
      stage.listGroups.mockImplementation(() => {
        throw answer;
      });
      stage.ask({ body: "no JSON" });
      expect(stage.decides).toHaveLength(0);
      return readFailure(stage.sink.failed).code;
    });
    expect(told).toEqual(["invalid_api_key", "invalid_json"]);
  });
});

import { create } from "@bufbuild/protobuf";
import { FeedState } from "@switchyard/cluster";
import { decodeConfig } from "@switchyard/config";
import { InferRequestSchema } from "@switchyard/proto/inference/v1/inference_service";
import { ListGroupsResponseSchema } from "@switchyard/proto/routing/v1/routing_service";
import type { DecideRequest, ListGroupsResponse } from "@switchyard/proto/routing/v1/routing_service";
import { CallContext, failure } from "@switchyard/rpc";
import { Metrics } from "@switchyard/telemetry";
import type { TokenSource } from "@switchyard/upstream";
import { vi } from "vitest";
import { createForwarder } from "../src/index.ts";
import { FakeLogger, FakeSink, FakeUpstream, Published } from "./fakes.ts";
import type { Script } from "./fakes.ts";
import { FakeTracer } from "./fake-tracer.ts";

/** The secret of provider `a`; provider `c` has none, and `t` sends tokens. */
export const SECRET = "upkey-a-9f31c0ffee";
export const PROMPT = "the-prompt-of-the-caller";

const CONFIG = `
providers:
  - { name: a, family: openai_compatible, base_url: "http://127.0.0.1:1/v1", credential: { env: A } }
  - { name: b, family: openai_compatible, base_url: "http://127.0.0.1:2/v1", credential: { env: B } }
  - { name: c, family: openai_compatible, base_url: "http://127.0.0.1:3/v1", credential: { env: MISSING } }
  - { name: d, family: openai, base_url: "http://127.0.0.1:4", credential: { env: B } }
  - { name: t, family: azure_openai, base_url: "http://127.0.0.1:5", credential: { none: true } }
groups:
  - name: g
    deployments: [{ provider: a, model: m }, { provider: b, model: m }, { provider: c, model: m }]
native_endpoints:
  - { path: /v1/systemone, provider_families: [openai_compatible] }
`;

/** What the test asks for. */
export interface Asked {
  readonly stream?: boolean;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export type Stage = ReturnType<typeof createStage>;

/** A forwarder whose router, providers, clock and caller are the test's. `scripts`: the decisions, in order. */
export function createStage(...scripts: readonly Script[]) {
  return setStage(scripts, true, NO_TOKENS);
}

/** The same where tracing is off. */
createStage.untraced = (...scripts: readonly Script[]) => setStage(scripts, false, NO_TOKENS);

/** The same where provider `t` has tokens. */
createStage.withTokens = (tokens: TokenSource, ...scripts: readonly Script[]) =>
  setStage(scripts, true, tokens);

const NO_TOKENS: TokenSource = {
  isFailing: false,
  failure: undefined,
  current: () => undefined,
  next: () => Promise.resolve(undefined),
  refused: () => undefined,
  close: () => undefined,
};

function setStage(scripts: readonly Script[], traced: boolean, tokens: TokenSource) {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"],
    now: 1_700_000_000_000,
  });
  const upstream = new FakeUpstream();
  const published = new Published();
  const logger = new FakeLogger();
  const metrics = new Metrics();
  const tracer = new FakeTracer();
  const decides: DecideRequest[] = [];
  const left = [...scripts];
  const feed = new FeedState();
  const { config, faults } = decodeConfig(CONFIG);
  if (config === undefined) throw new Error(JSON.stringify(faults));
  feed.replace({ config, revision: 3 });
  const secrets: Readonly<Record<string, string>> = { A: SECRET, B: "upkey-b-00c0ffee00" };
  const listGroups = vi.fn<() => ListGroupsResponse>(() => create(ListGroupsResponseSchema));
  const forwarder = createForwarder({
    name: "f1",
    router: {
      decide: (request) => {
        decides.push(request);
        const script = left.length > 1 ? left.shift() : left[0];
        if (script === undefined) throw failure("upstream_unavailable", "no script", { status: 503 });
        return script(request);
      },
      explain: () => {
        throw new Error("not asked for");
      },
      listGroups,
    },
    upstream,
    bus: published.bus,
    config: feed,
    secrets: { env: (name) => secrets[name], file: () => undefined },
    openTokens: () => tokens,
    logger,
    metrics,
    tracer: traced ? tracer : undefined,
    now: () => Date.now(),
  });
  const sink = new FakeSink();
  const call = new CallContext({ headers: { authorization: "Bearer ck-caller-key" } });
  return {
    upstream,
    published,
    logger,
    metrics,
    tracer,
    decides,
    /** What tells whether a key is known, where no decision is asked for. */
    listGroups,
    sink,
    call,
    forwarder,
    /** Sends the request. */
    ask(asked: Asked = {}): void {
      const messages = [{ role: "user", content: PROMPT }];
      const body = asked.body ?? JSON.stringify({ model: "g", messages, stream: asked.stream ?? false });
      const request = create(InferRequestSchema, {
        method: asked.method ?? "POST",
        path: asked.path ?? "/v1/chat/completions",
        requestId: "req_1",
        headers: Object.entries(asked.headers ?? {}).map(([name, value]) => ({ name, value })),
        body: new TextEncoder().encode(body),
      });
      forwarder.inference.infer(request, sink, call);
    },
    /** Requests in flight over all deployments, and the least that any ever showed. */
    async inFlight(): Promise<number[]> {
      const { body } = await metrics.render();
      return [...body.matchAll(/^switchyard_deployment_in_flight\{.*\} (\S+)$/gm)].map((match) =>
        Number(match[1]),
      );
    },
    /** Lets successes and usage be published, then ends everything. */
    async close(): Promise<void> {
      await forwarder.close();
      await published.bus.close();
    },
  };
}

export const OK = JSON.stringify({
  id: "c1",
  object: "chat.completion",
  model: "m-1",
  choices: [{ index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 7, total_tokens: 10 },
});

function chunk(fields: object): string {
  return `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", model: "m-1", ...fields })}\n\n`;
}
function delta(fields: object, finish: string | null = null): string {
  return chunk({ choices: [{ index: 0, delta: fields, finish_reason: finish }] });
}
export const ROLE = delta({ role: "assistant", content: "" });
export const token = (text: string): string => delta({ content: text });
export const FINISH = delta({}, "stop");
export const USAGE = chunk({
  choices: [],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});
export const DONE = "data: [DONE]\n\n";
export const ERROR_EVENT = 'data: {"error":{"message":"busy now","type":"overloaded_error","code":null}}\n\n';
export const ERROR_500 =
  '{"error":{"message":"broken inside","type":"server_error","code":null,"param":null}}';

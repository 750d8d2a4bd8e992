// Cost of one call: node packages/rpc/test/bench/unary.ts [seconds per row]. Client and server are two processes;
// CPU is the sum of both.
import { fork } from "node:child_process";
import { once } from "node:events";
import { create } from "@bufbuild/protobuf";
import {
  InferenceService,
  InferRequestSchema,
  InferResponseSchema,
} from "@switchyard/proto/inference/v1/inference_service";
import {
  DecideRequestSchema,
  DecideResponseSchema,
  ExplainResponseSchema,
  ListGroupsResponseSchema,
  RoutingService,
} from "@switchyard/proto/routing/v1/routing_service";
import {
  CallContext,
  createLeanClient,
  createRpcServer,
  createStockClient,
  registration,
  type ServiceImpl,
} from "../../src/index.ts";

const seconds = Number(process.argv[2] ?? "1");
const answer = create(DecideResponseSchema, {
  decision: {
    case: "attempt",
    value: {
      decisionId: "d-1",
      group: "chat",
      project: "default",
      deployment: "azure",
      provider: "azure",
      model: "gpt-5",
      timeoutMs: 60_000n,
    },
  },
  continuation: new Uint8Array(200),
  configRevision: 7n,
});
const routing: ServiceImpl<typeof RoutingService> = {
  decide: () => answer,
  explain: () => create(ExplainResponseSchema),
  listGroups: () => create(ListGroupsResponseSchema),
};
const chunk = create(InferResponseSchema, { part: { case: "chunk", value: new Uint8Array(150) } });
const unserved = (): never => {
  throw new Error("not measured");
};
const inference: ServiceImpl<typeof InferenceService> = {
  infer(request, sink) {
    let left = request.path === "/100" ? 100 : 1;
    const more = (): void => {
      sink.send(chunk);
      left -= 1;
      if (left === 0) sink.end();
      else setImmediate(more);
    };
    more();
  },
  chat: unserved,
  streamChat: unserved,
  embed: unserved,
};
const decide = create(DecideRequestSchema, {
  facts: { id: "r-1", path: "/v1/chat/completions", model: "chat", bodyBytes: 1000n },
});
const headers = { authorization: "Bearer sk-something" };

const serving = process.argv[2] === "serve";
if (serving) {
  const services = [registration(RoutingService, routing), registration(InferenceService, inference)];
  const server = await createRpcServer({ services, host: "127.0.0.1", port: 0 });
  process.send?.(server.url);
  process.on("message", () => process.send?.(process.cpuUsage()));
  await once(process, "disconnect");
  process.exit();
}

const child = fork(new URL(import.meta.url), ["serve"]);
const ask = async <T>(question?: string): Promise<T> => {
  const answered = once(child, "message");
  if (question !== undefined) child.send(question);
  return (await answered)[0] as T;
};
const url = await ask<string>();

async function cpuMicros(): Promise<number> {
  const own = process.cpuUsage();
  const { user, system } = await ask<NodeJS.CpuUsage>("cpu");
  return own.user + own.system + user + system;
}

async function row(name: string, concurrency: number, work: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < 300; i += 1) await work();
  let calls = 0;
  const cpu = await cpuMicros();
  const start = performance.now();
  const stop = start + seconds * 1000;
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (performance.now() < stop) {
        await work();
        calls += 1;
      }
    }),
  );
  const wall = performance.now() - start;
  const used = (await cpuMicros()) - cpu;
  const each = used / calls;
  console.log(
    `${name.padEnd(34)} at ${String(concurrency).padStart(2)}: ${each.toFixed(1).padStart(7)} µs CPU, ${((wall * 1000 * concurrency) / calls).toFixed(0).padStart(6)} µs each, ${calls} calls`,
  );
}

const read = (
  client: ServiceImpl<typeof InferenceService>,
  path: string,
  body: Uint8Array,
): Promise<number> =>
  new Promise((resolve, reject) => {
    let count = 0;
    const request = create(InferRequestSchema, { method: "POST", path, body });
    client.infer(
      request,
      { send: () => (count += 1) > 0, end: () => resolve(count), fail: reject, onDrain() {} },
      new CallContext({ headers }),
    );
  });

const leanRouting = createLeanClient(RoutingService, { urls: [url], resendable: ["decide"] });
const exclusiveRouting = createLeanClient(RoutingService, { urls: [url] });
const leanInference = createLeanClient(InferenceService, { urls: [url] });
const stock1 = createStockClient(RoutingService, url);
const stock2 = createStockClient(RoutingService, url, { httpVersion: "2" });
const grpc = createStockClient(RoutingService, url, { httpVersion: "2", protocol: "grpc" });
const stockInference = createStockClient(InferenceService, url, { httpVersion: "2" });
const call = (): CallContext => new CallContext({ headers, deadline: Date.now() + 10_000 });
const small = new Uint8Array(1000);
const large = new Uint8Array(200_000);
for (const n of [1, 32]) {
  await row("decide in process", n, async () => routing.decide(decide, call()));
  await row("decide lean, pipelined", n, async () => leanRouting.decide(decide, call()));
  await row("decide lean, exclusive", n, async () => exclusiveRouting.decide(decide, call()));
  await row("decide stock client, h1", n, async () => stock1.decide(decide, call()));
  await row("decide stock client, h2", n, async () => stock2.decide(decide, call()));
  await row("decide grpc client and server", n, async () => grpc.decide(decide, call()));
  await row("infer 1 KB lean", n, () => read(leanInference, "/1", small));
  await row("infer 100 chunks in process", n, () => read(inference, "/100", small));
  await row("infer 100 chunks lean", n, () => read(leanInference, "/100", small));
  await row("infer 200 KB prompt lean", n, () => read(leanInference, "/1", large));
  await row("infer 100 chunks stock client, h2", n, () => read(stockInference, "/100", small));
}
for (const client of [leanRouting, exclusiveRouting, leanInference, stock1, stock2, grpc, stockInference])
  client[Symbol.dispose]();
child.disconnect();

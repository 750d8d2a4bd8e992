import { createHash, randomBytes, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { clone, create } from "@bufbuild/protobuf";
import { createMemoryBus } from "@switchyard/bus";
import { FeedState } from "@switchyard/cluster";
import { encodeMessage, nativePaths, processSecrets } from "@switchyard/config";
import { ConfigSchema, Endpoint } from "@switchyard/proto/config/v1/config";
import type { Config } from "@switchyard/proto/config/v1/config";
import {
  DecideResponseSchema,
  ExplainRequestSchema,
  RequestFactsSchema,
} from "@switchyard/proto/routing/v1/routing_service";
import type { DecideResponse, RequestFacts } from "@switchyard/proto/routing/v1/routing_service";
import { createRouter } from "@switchyard/router";
import { CallContext } from "@switchyard/rpc";
import { Metrics, SILENT } from "@switchyard/telemetry";
import { randomSeed } from "../node/random-seed.ts";
import type { ExplainCommand } from "../args/command.ts";
import { CommandError, EXIT } from "../exit.ts";
import { explanationText } from "./explanation-text.ts";
import { readConfig } from "./read-config.ts";

const ENDPOINTS: ReadonlyMap<string, Endpoint> = new Map([
  ["/v1/chat/completions", Endpoint.CHAT],
  ["/v1/embeddings", Endpoint.EMBEDDINGS],
  ["/v1/responses", Endpoint.RESPONSES],
  ["/v1/messages", Endpoint.MESSAGES],
  ["/v1/messages/count_tokens", Endpoint.COUNT_TOKENS],
]);

/** Decides on the path that a router decides on, with no benches and no load, and prints the decision and why (R8). */
export async function explain(command: ExplainCommand): Promise<number> {
  const { config } = await readConfig(command.config);
  const facts = await factsOf(command, nativePaths(config));
  const { decision, message } = await decideOnce(config, command.key, facts);
  process.stdout.write(
    command.json ? `${JSON.stringify(message, null, 2)}\n` : explanationText(decision, facts.model),
  );
  return decision.decision.case === "attempt" ? EXIT.ok : EXIT.failed;
}

async function decideOnce(
  config: Config,
  key: string,
  facts: RequestFacts,
): Promise<{ decision: DecideResponse; message: object }> {
  const caller = callerOf(config, key);
  const feed = new FeedState();
  feed.replace({ config: caller.config, revision: 1 });
  const bus = createMemoryBus();
  const router = createRouter({
    bus,
    config: feed,
    secrets: processSecrets,
    logger: SILENT,
    metrics: new Metrics(),
    now: Date.now,
    seed: randomSeed,
    name: "explain",
  });
  try {
    const call = new CallContext({ headers: { authorization: `Bearer ${caller.secret}` } });
    const { decision } = await router.routing.explain(create(ExplainRequestSchema, { facts }), call);
    if (decision === undefined) throw new CommandError("the router gave no decision");
    return { decision, message: encodeMessage(DecideResponseSchema, decision) };
  } finally {
    router.close();
    await bus.close();
  }
}

/**
 * The secret to call with. A key that is named rather than given gets a secret of its own for this one decision:
 * its real one may be known by its hash only.
 */
function callerOf(config: Config, key: string): { config: Config; secret: string } {
  const index = config.keys.findIndex(({ name }) => name === key);
  if (index < 0) return { config, secret: key };
  const secret = randomBytes(16).toString("hex");
  const own = clone(ConfigSchema, config);
  const named = own.keys[index];
  if (named?.secret !== undefined) {
    named.secret.source = { case: "sha256", value: createHash("sha256").update(secret).digest("hex") };
  }
  return { config: own, secret };
}

async function factsOf(
  { body: path, model, path: endpointPath }: ExplainCommand,
  native: ReadonlySet<string>,
): Promise<RequestFacts> {
  const text = path === undefined ? undefined : await readBody(path);
  const body = text === undefined ? {} : parseBody(path ?? "", text);
  const at =
    endpointPath ?? ("input" in body && !("messages" in body) ? "/v1/embeddings" : "/v1/chat/completions");
  const endpoint = ENDPOINTS.get(at) ?? (native.has(at) ? Endpoint.NATIVE : undefined);
  if (endpoint === undefined) {
    throw new CommandError(`--path must be one of ${[...ENDPOINTS.keys(), ...native].join(", ")}`, {
      status: EXIT.usage,
    });
  }
  const named = body["model"];
  return create(RequestFactsSchema, {
    id: randomUUID(),
    endpoint,
    path: at,
    model: model ?? (typeof named === "string" ? named : ""),
    stream: body["stream"] === true,
    bodyBytes: BigInt(Buffer.byteLength(text ?? "")),
  });
}

async function readBody(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new CommandError(`${path} cannot be read`, { cause: error });
  }
}

function parseBody(path: string, text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch {
    // Said below, without the parser's text: it quotes the body.
  }
  throw new CommandError(`${path} is no JSON object`);
}

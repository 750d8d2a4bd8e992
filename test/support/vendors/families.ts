import { createHash } from "node:crypto";
import { createScriptedProvider, text } from "@switchyard/testkit";
import type { RecordedCall, ScriptedProvider } from "@switchyard/testkit";
import { CANARIES, SCENE_ENV } from "../gateway-scene.ts";
import { startGateway } from "../gateway.ts";
import type { Form, Gateway } from "../gateway.ts";
import { chat, googleChat } from "./chat.ts";
import { converse } from "./converse.ts";
import { gemini } from "./gemini.ts";
import { messages } from "./messages.ts";
import { model } from "./model.ts";
import { responses } from "./responses.ts";
import type { Vendor } from "./vendor.ts";

/** An account of one family, with one model. */
export interface Served {
  /** Name of the group, and of the provider. */
  readonly name: string;
  readonly model: string;
  readonly provider: object;
  /** Where the vendor listens below the scripted provider's URL, for families that take the base URL as it is. */
  readonly base?: string;
  /** Paths that the vendor has, and what each speaks. */
  readonly paths: readonly (readonly [RegExp, Vendor])[];
  /** How the account proves itself. */
  readonly auth: (call: RecordedCall) => boolean;
}

const bearer = (call: RecordedCall): boolean => call.header("authorization") === `Bearer ${CANARIES.A}`;
const signed =
  (service: string) =>
  (call: RecordedCall): boolean =>
    new RegExp(`^AWS4-HMAC-SHA256 Credential=.*/eu-central-1/${service}/aws4_request, `, "u").test(
      call.header("authorization") ?? "",
    );
const openAiPaths = (prefix: string): Served["paths"] => [
  [new RegExp(`^${prefix}/chat/completions$`, "u"), chat],
  [new RegExp(`^${prefix}/responses$`, "u"), responses],
];
const PLACE = "^/v1/projects/p/locations/europe-west4/publishers";
const AWS = { region: "eu-central-1", credential: { env: "SCENE_AWS_A" } };
const HAIKU = "us.anthropic.claude-haiku-4-5-20251001-v1:0";
const PLAIN: Served["paths"] = [[/^\/v1\/chat\/completions$/u, chat]];

/** Every family, those with two ways twice. */
export const FAMILIES: readonly Served[] = [
  { name: "openai", model: "gpt-5", provider: { family: "openai" }, paths: openAiPaths("/v1"), auth: bearer },
  {
    name: "azure_openai",
    model: "gpt-5",
    provider: { family: "azure_openai" },
    paths: openAiPaths("/openai/v1"),
    auth: (call) => call.header("api-key") === CANARIES.A,
  },
  {
    name: "openai_compatible",
    model: "qwen3",
    provider: { family: "openai_compatible" },
    base: "/v1",
    paths: PLAIN,
    auth: bearer,
  },
  {
    name: "anthropic",
    model: "claude-sonnet-4-5",
    provider: { family: "anthropic" },
    paths: [[/^\/v1\/messages(\?beta=true)?$/u, messages]],
    auth: (call) => call.header("x-api-key") === CANARIES.A && call.header("authorization") === undefined,
  },
  {
    name: "bedrock",
    model: HAIKU,
    provider: { family: "bedrock", ...AWS },
    paths: [[new RegExp(`^/model/${encodeURIComponent(HAIKU)}/converse(-stream)?$`, "u"), converse]],
    auth: signed("bedrock"),
  },
  {
    name: "bedrock_mantle",
    model: "qwen.qwen3-32b",
    provider: { family: "bedrock_mantle", ...AWS },
    paths: openAiPaths("/v1"),
    auth: signed("bedrock-mantle"),
  },
  {
    name: "bedrock_mantle-claude",
    model: "anthropic.claude-haiku-4-5",
    provider: { family: "bedrock_mantle", ...AWS },
    paths: [[/^\/anthropic\/v1\/messages(\?beta=true)?$/u, messages]],
    auth: signed("bedrock-mantle"),
  },
  {
    name: "vertex",
    model: "gemini-3-flash",
    provider: { family: "vertex", project: "p", location: "europe-west4" },
    paths: [
      [
        new RegExp(`${PLACE}/google/models/gemini-3-flash:(g|streamG)enerateContent(\\?alt=sse)?$`, "u"),
        gemini,
      ],
    ],
    auth: bearer,
  },
  {
    name: "vertex-claude",
    model: "claude-haiku-4-5@20251001",
    provider: { family: "vertex", project: "p", location: "europe-west4" },
    paths: [
      [
        new RegExp(
          `${PLACE}/anthropic/models/claude-haiku-4-5%4020251001:(r|streamR)awPredict(\\?beta=true)?$`,
          "u",
        ),
        messages,
      ],
    ],
    auth: bearer,
  },
  {
    name: "gemini",
    model: "gemini-3-flash",
    provider: { family: "gemini" },
    paths: [[/^\/v1beta\/models\/gemini-3-flash:(g|streamG)enerateContent(\?alt=sse)?$/u, gemini]],
    auth: (call) =>
      call.header("x-goog-api-key") === CANARIES.A && call.header("authorization") === undefined,
  },
  {
    name: "gemini-openai",
    model: "gemini-3-flash",
    provider: { family: "gemini" },
    base: "/v1beta/openai",
    paths: [[/^\/v1beta\/openai\/chat\/completions$/u, googleChat]],
    auth: bearer,
  },
  {
    name: "openrouter",
    model: "qwen/qwen3-32b",
    provider: { family: "openrouter" },
    paths: [...openAiPaths("/api/v1"), [/^\/api\/v1\/messages(\?beta=true)?$/u, messages]],
    auth: bearer,
  },
];

export const CALLER_KEY = "ck-test-matrix";

/** The group of all families: who is not away serves. */
export const POOL = "pool";

function groupOf(name: string, families: readonly Served[]): object {
  const policy = {
    preset: "group_failover",
    retry: { max_retries: 0 },
    bench: { failures: 0 },
    max_attempts: 32,
  };
  const deployments = families.map((family) => ({ provider: family.name, model: family.model, weight: 100 }));
  return { name, deployments, policy };
}

/** A gateway with every family behind it, each a group of its own name. */
export interface Matrix extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly http: string;
  readonly key: string;
  vendor(name: string): ScriptedProvider;
}

/** Starts the vendors and the gateway; disposing of it fails where a key is found in the logs. */
export async function startMatrix(form: Form, families: readonly Served[] = FAMILIES): Promise<Matrix> {
  await using owner = new AsyncDisposableStack();
  const vendors = new Map<string, ScriptedProvider>();
  for (const family of families) {
    const provider = owner.use(await createScriptedProvider());
    provider.answer((call) => {
      const vendor = family.paths.find(([path]) => path.test(call.path))?.[1];
      if (vendor === undefined) return text(404, `no such path: ${call.path}`, "text/plain");
      if (!family.auth(call)) return text(401, "who are you?", "text/plain");
      if (/ck-test/u.test(JSON.stringify(call.headers))) return text(401, "a caller's key", "text/plain");
      const foreign = vendor === messages ? "openai-" : "anthropic-";
      const told = call.headers.find(([header]) => header.toLowerCase().startsWith(foreign));
      if (told !== undefined) return text(400, `another vendor's header: ${told[0]}`, "text/plain");
      return model(vendor, call);
    });
    vendors.set(family.name, provider);
  }
  const vendor = (name: string): ScriptedProvider => {
    const found = vendors.get(name);
    if (found === undefined) throw new Error(`there is no vendor ${name}`);
    return found;
  };
  const config = {
    providers: families.map(({ name, provider, base = "" }) => ({
      name,
      base_url: vendor(name).url + base,
      credential: { env: "SCENE_UPKEY_A" },
      ...provider,
    })),
    groups: [
      ...families.map((family) => groupOf(family.name, [family])),
      ...(families.length > 1 ? [groupOf(POOL, families)] : []),
    ],
    keys: [
      {
        name: "matrix",
        secret: { sha256: createHash("sha256").update(CALLER_KEY).digest("hex") },
        groups: [...families.map(({ name }) => name), ...(families.length > 1 ? [POOL] : [])],
      },
    ],
  };
  const gateway = owner.use(await startGateway({ form, config, env: SCENE_ENV }));
  const kept = owner.move();
  return {
    gateway,
    http: gateway.http,
    key: CALLER_KEY,
    vendor,
    [Symbol.asyncDispose]: async () => {
      await kept.disposeAsync();
      if (/UPKEY-A-|ck-test-/u.test(gateway.logs())) throw new Error("a key in the logs");
    },
  };
}

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cutAt, raw, seededRandom } from "@switchyard/testkit";
import { forEachForm } from "../support/gateway-stage.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures/providers");
const PATHS: Readonly<Record<string, string>> = {
  "chat.completions": "/v1/chat/completions",
  embeddings: "/v1/embeddings",
  responses: "/v1/responses",
};
/** They fail after their 200, so they end with an error of ours. */
const FAILED_AFTER_200: ReadonlySet<string> = new Set([
  "openai/responses-failed-stream",
  "openrouter/chat-reasoning-stream",
]);
/** Of the message as it was recorded, not of the body that is stored. */
const OF_THE_WIRE = new Set(["content-encoding", "content-length", "transfer-encoding", "connection"]);

interface Recording {
  readonly name: string;
  readonly family: "openai" | "openai_compatible" | "azure_openai" | "openrouter" | "bedrock_mantle";
  readonly path: string;
  /** Where the provider was called when it was recorded, without the query. */
  readonly calledPath: string;
  readonly stream: boolean;
  readonly status: number;
  readonly headers: readonly [string, string][];
  readonly request: string;
  readonly response: Buffer;
}

function readRecordings(folder: string, family: Recording["family"]): Recording[] {
  return readdirSync(join(FIXTURES, folder)).flatMap((name) => {
    const at = join(FIXTURES, folder, name);
    const facts = JSON.parse(readFileSync(join(at, "case.json"), "utf8")) as {
      endpoint: string;
      url: string;
      stream: boolean;
      status: number;
      response_headers: Record<string, string>;
    };
    const path = PATHS[facts.endpoint];
    const isKnown = path !== undefined && existsSync(join(at, "request.json"));
    if (!isKnown || FAILED_AFTER_200.has(`${folder}/${name}`)) return [];
    const headers = Object.entries(facts.response_headers).filter(
      ([key]) => !OF_THE_WIRE.has(key.toLowerCase()),
    );
    return [
      {
        name: `${folder}/${name}`,
        // The generic family has responses only where its account says so.
        family: family === "openai_compatible" && facts.endpoint === "responses" ? "openai" : family,
        path,
        calledPath: facts.url.replace(/^https:\/\/[^/]+|\?.*$/gu, ""),
        stream: facts.stream,
        status: facts.status,
        headers,
        request: readFileSync(join(at, "request.json"), "utf8"),
        response: readFileSync(join(at, "response.body")),
      },
    ];
  });
}

/** What some families must be told. */
const MORE: Readonly<Partial<Record<Recording["family"], object>>> = {
  bedrock_mantle: { region: "us-east-1", credential: { env: "SCENE_AWS_A" } },
};

const RECORDINGS = [
  ...readRecordings("openai", "openai_compatible"),
  ...readRecordings("azure-openai", "azure_openai"),
  ...readRecordings("openrouter", "openrouter"),
  ...readRecordings("bedrock", "bedrock_mantle"),
];
const MODEL = /"model"\s*:\s*"[^"]*"/;

/** The recorded request with another model, the rest byte for byte. */
function withModel(request: string, model: string): string {
  expect(request).toMatch(MODEL);
  return request.replace(MODEL, (found) => `${found.slice(0, found.indexOf(":"))}: "${model}"`);
}

function randomCuts(length: number, seed: number): number[] {
  const random = seededRandom(seed);
  const cuts = Array.from({ length: 40 }, () => 1 + Math.floor(random() * (length - 1)));
  return [...new Set(cuts)].toSorted((a, b) => a - b);
}

describe("the recordings", () => {
  it("are there", () => expect(RECORDINGS.length).toBeGreaterThan(35));
});

forEachForm("recorded traffic", {}, (stage) => {
  it.concurrent.for(RECORDINGS)("P1 $name goes through byte for byte", async (recording) => {
    await using scene = await stage.scene({
      order: ["A"],
      providers: { A: { family: recording.family, ...MORE[recording.family] } },
      policy: { bench: { failures: 0 }, skip_embeddings_families: [] },
      upstream: { flushMs: 1 },
    });
    const { response } = recording;
    const steps = recording.stream ? cutAt(response, randomCuts(response.length, 20_261_130)) : [response];
    scene.A.answer(raw(recording.status, recording.headers, steps));
    const reply = await scene.ask(withModel(recording.request, scene.model), { path: recording.path });

    expect(reply.status).toBe(recording.status);
    expect(scene.counts).toEqual({ A: 1 });
    expect(scene.A.calls[0]?.body.toString()).toBe(withModel(recording.request, "m-A"));
    if (recording.path === PATHS["responses"]) expect(scene.A.calls[0]?.path).toBe(recording.calledPath);
    if (recording.status !== 200) {
      const { error } = JSON.parse(response.toString()) as { error: { message: string } };
      expect(reply.error).toMatchObject(error);
    } else if (asksForBase64ButGetsFloats(recording)) {
      expect(reply.json()).toMatchObject({ data: [{ embedding: expect.any(String) as string }] });
    } else {
      expect(reply.bytes.equals(response)).toBe(true);
    }
    if (recording.stream) expect(reply.headers.get("content-type")).toContain("text/event-stream");
  });
});

/** BH-29: then the caller gets what it asked for, and not the bytes that came. */
function asksForBase64ButGetsFloats({ path, request, response }: Recording): boolean {
  return (
    path === PATHS["embeddings"] &&
    request.includes('"base64"') &&
    /"embedding"\s*:\s*\[/.test(response.toString())
  );
}

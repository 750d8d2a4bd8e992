import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SERVICES } from "@switchyard/standalone";
import { eventually, type ManagedProcess } from "@switchyard/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "./readme-blocks.ts";
import {
  addressOf,
  chat,
  MANIFEST,
  PROMPT,
  runBlock,
  runCurl,
  startScript,
  Workplace,
} from "./readme-commands.ts";
import {
  ATTEMPTS,
  BENCH,
  CLAUDE_CODE,
  CODEX,
  CURL,
  DECIDE,
  DIAGRAM,
  PYTHON,
  readme,
  START,
  TEST,
  TYPESCRIPT,
} from "./readme-examples.ts";
import { pythonWithOpenai } from "./readme-python.ts";

const ANY_PORTS = ["http", "rpc", "ops"].flatMap((name) => [`--${name}`, "127.0.0.1:0"]);

const files = new Workplace();
afterAll(() => files.remove());

describe("README: the quickstart", () => {
  let node: ManagedProcess;
  /** README's addresses of the quickstart replaced by those of this one. */
  let here: (text: string) => string;

  beforeAll(async () => {
    node = await startScript("start", ANY_PORTS, { cwd: tmpdir(), env: { OPENAI_API_KEY: "sk-of-nobody" } });
    const addresses = [
      ["127.0.0.1:8080", addressOf(node, "http")],
      ["127.0.0.1:8081", addressOf(node, "rpc")],
    ] as const;
    here = (text) => addresses.reduce((done, [shown, real]) => done.replaceAll(shown, real), text);
  });
  afterAll(() => node.stop());

  it("is started and tested by scripts that package.json has, with the pnpm that it pins", () => {
    const [pinned] = /^pnpm@\d+/.exec(MANIFEST.packageManager) ?? [];
    expect(START).toBe(`npx -y ${pinned} start\n`);
    expect(TEST).toBe(`npx -y ${pinned} test\n`);
    expect(MANIFEST.scripts).toMatchObject({
      start: / quickstart$/,
      test: expect.stringContaining("vitest run"),
    });
  });

  it("prints the curl command that README shows, and it is answered after a failover as shown", async () => {
    expect(node.stdout.split("\n")).toContain(here(CURL).trim());
    const shown = JSON.parse(ATTEMPTS) as Record<string, unknown>[];
    // One of the flaky deployment's three calls fails.
    let attempts: Record<string, unknown>[] = [];
    for (let call = 0; call < 3 && attempts.length < shown.length; call += 1) {
      const answer = await runCurl(here(CURL), files.folder);
      expect(answer.status).toBe(200);
      expect(JSON.parse(answer.body)).toMatchObject({ choices: [{ message: { role: "assistant" } }] });
      attempts = JSON.parse(answer.headers.get("x-ants-attempts") ?? "") as Record<string, unknown>[];
    }
    expect(attempts.map((entry) => Object.keys(entry))).toEqual(shown.map((entry) => Object.keys(entry)));
    expect(attempts).toEqual(
      shown.map((entry) => ({
        ...entry,
        ms: expect.any(Number) as unknown,
        ...("message" in entry && { message: expect.any(String) as unknown }),
      })),
    );
  });

  it("joins real providers when their variable is set", () => {
    expect(readme.section("Try it")).toContain("`OPENAI_API_KEY=… npx -y pnpm@12 start`");
    expect(node.stdout).toMatch(/^Models: demo, and .* openai \(gpt-5, /m);
  });

  it("answers the TypeScript example, run by node with the real SDK", async () => {
    files.write("snippet.ts", here(TYPESCRIPT));
    const { stdout } = await runBlock("node snippet.ts", files.folder);
    expect(stdout).toMatch(/^Hello from /);
  });

  it("answers the Python example, run with the real SDK where it can be installed", async () => {
    const [, url = "", key = "", model = ""] =
      /(http:\S+)\/chat\/completions .*Bearer ([^']+)'.*"model":"([^"]+)"/.exec(CURL) ?? [];
    expect(PYTHON).toContain(`OpenAI(base_url="${url}", api_key="${key}")`);
    expect(PYTHON).toContain(`model="${model}"`);
    const python = await pythonWithOpenai();
    if (python === undefined) return;
    files.write("snippet.py", here(PYTHON));
    const { stdout } = await runBlock(`"${python}" snippet.py`, files.folder);
    expect(stdout).toMatch(/^Hello from /);
  }, 300_000);

  it("answers at the addresses, keys and models that Claude Code and Codex are given", async () => {
    const { stdout } = await runBlock(`${here(CLAUDE_CODE)}env`, files.folder);
    const env = new Map(stdout.split("\n").map((line) => line.split("=", 2) as [string, string]));
    const key = env.get("ANTHROPIC_AUTH_TOKEN") ?? "";
    for (const model of ["ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL"].map((name) => env.get(name))) {
      const body = { model, max_tokens: 9, messages: [{ role: "user", content: "Hello" }] };
      const answer = await post(`${env.get("ANTHROPIC_BASE_URL")}/v1/messages`, key, body);
      expect(await answer.json()).toMatchObject({ type: "message" });
    }

    const [, model] = /^model = "(.*)"$/m.exec(CODEX) ?? [];
    const [, url] = /^base_url = "(.*)"$/m.exec(here(CODEX)) ?? [];
    const answer = await post(`${url}/responses`, key, { model, input: "Hello" });
    expect(await answer.json()).toMatchObject({ object: "response", status: "completed" });
  });

  it("answers the RPC example with what to attempt, within which times, and why; then with what is next", async () => {
    const { stdout } = await runBlock(here(DECIDE), files.folder);
    const decision = JSON.parse(stdout) as { continuation: string; attempt: { next: string } };
    expect(decision).toMatchObject({
      attempt: { deployment: "demo-flaky/demo-1", timeoutMs: expect.stringMatching(/^\d+$/) as unknown },
      continuation: expect.any(String) as unknown,
      explanation: { steps: [{ text: expect.stringContaining("demo-flaky/demo-1") as unknown }] },
    });

    const failed = { error: "ERROR_CLASS_OVERLOADED", status: 503, durationMs: 3 };
    const { facts } = JSON.parse(/-d '(.*)'/.exec(DECIDE)?.[1] ?? "") as { facts: object };
    const again = { facts, continuation: decision.continuation, failed };
    const second = await runBlock(
      here(DECIDE).replace(/-d '.*'/, `-d '${JSON.stringify(again)}'`),
      files.folder,
    );
    expect(JSON.parse(second.stdout)).toMatchObject({ attempt: { deployment: decision.attempt.next } });
    expect(readme.section("Call it over RPC")).toContain("`HealthStateService`");
    const list = `buf curl --http2-prior-knowledge --list-services http://${addressOf(node, "rpc")}`;
    expect((await runBlock(list, files.folder)).stdout).toContain("switchyard.health.v1.HealthStateService");
  });

  it("serves every path of the ops port that README names, and logs one JSON line per request", async () => {
    const paths = [...readme.section("Watch it").matchAll(/`(\/\w+)`/g)].map(([, path]) => path);
    expect(paths).toEqual(["/healthz", "/readyz", "/metrics"]);
    for (const path of paths) {
      const response = await fetch(`http://${addressOf(node, "ops")}${path}`);
      expect(response.status).toBe(200);
      if (path === "/readyz")
        expect(await response.json()).toMatchObject({ status: "ready", bus: "connected" });
      if (path === "/metrics")
        expect(await response.text()).toContain("# TYPE switchyard_requests_total counter");
    }

    const response = await chat(addressOf(node, "http"), "sk-quickstart", "demo");
    const id = response.headers.get("x-request-id");
    const lines = (): Record<string, unknown>[] =>
      node.stderr
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    await eventually(() => {
      expect(lines().filter(({ request }) => request === id)).toMatchObject([
        { message: "request", status: 200 },
      ]);
    });
    for (const text of ["sk-", PROMPT, "Hello from"]) expect(node.stderr).not.toContain(text);
  });
});

function post(url: string, key: string, body: object): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

describe("README: the rest", () => {
  it("draws the services that there are", () => {
    for (const service of SERVICES) expect(DIAGRAM).toMatch(new RegExp(`\\b${service}\\b`));
  });

  it("names a benchmark that starts, and knows its loads", async () => {
    await expect(runBlock(`${BENCH.trim()} --load none`, files.folder)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining("one of chat-1k, stream-100") as unknown,
    });
  });

  it("links to files that are there", () => {
    const links = [...readme.text.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, link = ""]) => link);
    expect(links.length).toBeGreaterThan(0);
    expect(links.filter((link) => !existsSync(join(ROOT, link)))).toEqual([]);
  });

  it("has no block that none of these tests knows", () => {
    expect(readme.unclaimed()).toEqual([]);
  });
});

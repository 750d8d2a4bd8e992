import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { startNode } from "@switchyard/testkit";
import type { ManagedProcess } from "@switchyard/testkit";
import { ROOT } from "./readme-blocks.ts";

const COMMAND_WITHIN_MS = 30_000;
const READY_WITHIN_MS = 30_000;
const execute = promisify(execFile);

/** What {@link chat} says, to be looked for where it must not be. */
export const PROMPT = "a prompt nobody logs";

interface Manifest {
  readonly packageManager: string;
  readonly scripts: Readonly<Record<string, string>>;
}

export const MANIFEST = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest;

/** Loopback is asked directly, whatever proxy the machine is behind. */
const DIRECT: Readonly<Record<string, string>> = { NO_PROXY: "127.0.0.1", no_proxy: "127.0.0.1" };

interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder for the files of README's examples: inside the workspace, so that the TypeScript one finds its `openai`. */
export class Workplace {
  readonly folder: string;

  constructor() {
    mkdirSync(join(ROOT, ".cache"), { recursive: true });
    this.folder = mkdtempSync(join(ROOT, ".cache/readme-"));
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/**
 * Runs a block as a user's shell does, in a folder of its own: `pnpm NAME` runs that script of package.json,
 * `pnpm exec` a program of the workspace. Rejects when a command fails.
 */
export function runBlock(
  block: string,
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Output> {
  const named = new Set([...block.matchAll(/\bpnpm (\w+)/g)].map(([, name = ""]) => name));
  named.delete("exec");
  const scripts = [...named].map((name) => `${name}) ${wordsOf(name).map(quote).join(" ")} "$@" ;;`);
  const pnpm = `pnpm() { name=$1; shift; case $name in exec) "$@" ;; ${scripts.join(" ")} esac; }`;
  const path = `${join(ROOT, "node_modules/.bin")}${delimiter}${process.env["PATH"] ?? ""}`;
  return execute("sh", ["-ec", `${pnpm}\n${block}`], {
    cwd,
    env: { ...process.env, ...DIRECT, ...env, PATH: path },
    timeout: COMMAND_WITHIN_MS,
  });
}

/** Starts a line of a block that serves until it is stopped: `pnpm switchyard …`, a comment at its end left out. */
export function startLine(
  line: string,
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<ManagedProcess> {
  const [pnpm, script = "", ...args] = line
    .replace(/\s#.*$/, "")
    .trim()
    .split(/\s+/);
  if (pnpm !== "pnpm") throw new Error(`not a pnpm command: ${line}`);
  return startScript(script, args, options);
}

/** Starts a script of package.json, and waits until it is ready. */
export function startScript(
  name: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<ManagedProcess> {
  const [node, ...script] = wordsOf(name);
  if (node !== "node") throw new Error(`the script ${name} does not run node`);
  return startNode([...script, ...args], { ...options, ready: /^ready /, withinMs: READY_WITHIN_MS });
}

/** The address of a listener in the line `ready`. */
export function addressOf(node: ManagedProcess, listener: string): string {
  const found = new RegExp(`^ready .*\\b${listener}=http://(\\S+)`, "m").exec(node.stdout);
  if (found?.[1] === undefined) throw new Error(`no ${listener} in: ${node.stdout}`);
  return found[1];
}

/** A chat request to `http://address`. */
export function chat(address: string, key: string, model: string): Promise<Response> {
  return fetch(`http://${address}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: PROMPT }] }),
  });
}

interface CurlAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Runs a `curl -si` line; where a machine has no curl, sends what it would send. */
export async function runCurl(line: string, cwd: string): Promise<CurlAnswer> {
  const hasCurl = await execute("sh", ["-c", "command -v curl"]).then(
    () => true,
    () => false,
  );
  if (!hasCurl) return sendAsCurl(line);
  const { stdout } = await runBlock(line, cwd);
  const end = stdout.indexOf("\r\n\r\n");
  const [first = "", ...lines] = stdout.slice(0, end).split("\r\n");
  const headers = lines.map((each) => {
    const [name = "", ...value] = each.split(": ");
    return [name.toLowerCase(), value.join(": ")] as const;
  });
  return { status: Number(first.split(" ")[1]), headers: new Map(headers), body: stdout.slice(end + 4) };
}

async function sendAsCurl(line: string): Promise<CurlAnswer> {
  const [, url = "", rest = ""] = /^curl -si (\S+) (.*)$/.exec(line.trim()) ?? [];
  const headers = [...rest.matchAll(/-H '([^:]+): ([^']*)'/g)].map(([, name = "", value = ""]) => [
    name,
    value,
  ]);
  const body = /-d '([^']*)'/.exec(rest)?.[1] ?? "";
  const response = await fetch(url, { method: "POST", headers: headers as [string, string][], body });
  return { status: response.status, headers: new Map(response.headers), body: await response.text() };
}

/** The command of a script of package.json, which is to run in any folder. */
function wordsOf(name: string): string[] {
  const script = MANIFEST.scripts[name];
  if (script === undefined) throw new Error(`package.json has no script "${name}"`);
  const inside = /^(?:\.\/)?(?:scripts|services|test)\//;
  return script.split(" ").map((word) => (inside.test(word) ? join(ROOT, word) : word));
}

function quote(word: string): string {
  return `'${word}'`;
}

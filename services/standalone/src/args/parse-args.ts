import { parseArgs } from "node:util";
import { nearest } from "@switchyard/config";
import { CommandError, EXIT } from "../exit.ts";
import { SERVICES } from "./command.ts";
import type { Command, ServiceName } from "./command.ts";
import { callOf, COMMAND_NAMES, helpText } from "./usage.ts";

type Values = Readonly<Record<string, string | boolean | undefined>>;
interface Given {
  readonly values: Values;
  readonly positionals: readonly string[];
}
type OptionTypes = Readonly<Record<string, "string" | "boolean">>;

/** More processes than any machine has cores for are a typing mistake. */
const MAX_WORKERS = 256;
const SERVE: OptionTypes = { config: "string", services: "string", workers: "string" };
const REPLAY: OptionTypes = {
  log: "string",
  config: "string",
  json: "boolean",
  verify: "boolean",
  "max-share-change": "string",
  "max-cost-change": "string",
  "max-failure-rate": "string",
};
const ONE_SERVICE: OptionTypes = { config: "string", workers: "string" };

/** What `argv` (without node and script) asks for. Throws a `CommandError` of status 2 with one clear line. */
export function parseCommand(argv: readonly string[]): Command {
  const [name, ...rest] = argv;
  if (name === undefined) throw usage(`a command is missing: ${COMMAND_NAMES.join(", ")} (see --help)`);
  if (name === "--help" || name === "-h" || name === "help") return { name: "help", text: helpText() };
  if (name === "--version" || name === "-v") return { name: "version" };
  if (!COMMAND_NAMES.includes(name)) throw unknownCommand(name);
  if (rest.includes("--help") || rest.includes("-h")) return { name: "help", text: helpText(name) };
  switch (name) {
    case "serve":
      return serve(name, read(name, rest, SERVE, 0));
    case "validate":
      return { name, file: read(name, rest, {}, 1).positionals[0] ?? "" };
    case "apply":
      return apply(read(name, rest, { url: "string", "dry-run": "boolean" }, 1));
    case "explain":
      return explain(name, rest);
    case "replay":
      return replay(name, read(name, rest, REPLAY, 0));
    case "quickstart":
      return quickstart(read(name, rest, { http: "string", rpc: "string", ops: "string" }, 0));
    default:
      return serve(name, read(name, rest, ONE_SERVICE, 0));
  }
}

function serve(name: string, { values }: Given): Command {
  const own = SERVICES.find((service) => service === name);
  return {
    name: "serve",
    config: required(name, values, "config"),
    services: own === undefined ? servicesOf(values["services"]) : new Set([own]),
    workers: workersOf(values["workers"]),
  };
}

function apply({ values, positionals }: Given): Command {
  return {
    name: "apply",
    file: positionals[0] ?? "",
    url: text(values["url"]),
    dryRun: values["dry-run"] === true,
  };
}

function explain(name: "explain", rest: readonly string[]): Command {
  const options: OptionTypes = {
    config: "string",
    key: "string",
    model: "string",
    body: "string",
    path: "string",
    json: "boolean",
  };
  const { values } = read(name, rest, options, 0);
  const body = text(values["body"]);
  return {
    name,
    config: required(name, values, "config"),
    key: required(name, values, "key"),
    model: body === undefined ? required(name, values, "model") : text(values["model"]),
    body,
    path: text(values["path"]),
    json: values["json"] === true,
  };
}

function replay(name: "replay", { values }: Given): Command {
  return {
    name,
    log: required(name, values, "log"),
    config: required(name, values, "config"),
    json: values["json"] === true,
    verify: values["verify"] === true,
    limits: {
      shareChange: percentOf(values, "max-share-change"),
      costChange: percentOf(values, "max-cost-change"),
      failureRate: percentOf(values, "max-failure-rate"),
    },
  };
}

function percentOf(values: Values, name: string): number | undefined {
  const written = text(values[name]);
  if (written === undefined) return undefined;
  if (/^\d+(\.\d+)?%?$/u.test(written)) return Number.parseFloat(written);
  throw usage(`--${name} must be a number of percent, not "${written}"`);
}

function quickstart({ values }: Given): Command {
  return {
    name: "quickstart",
    http: text(values["http"]),
    rpc: text(values["rpc"]),
    ops: text(values["ops"]),
  };
}

function read(command: string, args: readonly string[], types: OptionTypes, files: number): Given {
  const options = Object.fromEntries(Object.entries(types).map(([name, type]) => [name, { type }]));
  let given: Given;
  try {
    given = parseArgs({ args: [...args], options, allowPositionals: true }) as Given;
  } catch (error) {
    // Node's own text goes on about positionals; its first sentence says what is wrong.
    const [why] = (error instanceof Error ? error.message : String(error)).split(/\. |\n/u);
    throw usage(`${why ?? "wrong arguments"}; usage: ${callOf(command)}`);
  }
  if (given.positionals.length < files) throw usage(`FILE is missing; usage: ${callOf(command)}`);
  const extra = given.positionals[files];
  if (extra !== undefined) throw usage(`unexpected argument "${extra}"; usage: ${callOf(command)}`);
  return given;
}

function servicesOf(list: string | boolean | undefined): ReadonlySet<ServiceName> {
  const names = text(list);
  if (names === undefined) return new Set(SERVICES);
  const wanted = names.split(",").map((name) => {
    const known = SERVICES.find((service) => service === name.trim());
    if (known !== undefined) return known;
    throw usage(`unknown service "${name.trim()}"${hint(name, SERVICES)}; there are ${SERVICES.join(", ")}`);
  });
  return new Set(SERVICES.filter((service) => wanted.includes(service)));
}

function workersOf(value: string | boolean | undefined): number {
  const written = text(value);
  if (written === undefined) return 1;
  const count = /^\d+$/u.test(written) ? Number(written) : 0;
  if (count < 1 || count > MAX_WORKERS) {
    throw usage(`--workers must be a number from 1 to ${MAX_WORKERS}, not "${written}"`);
  }
  return count;
}

function required(command: string, values: Values, name: string): string {
  const value = text(values[name]);
  if (value === undefined) throw usage(`--${name} is missing; usage: ${callOf(command)}`);
  // A variable that is not set, most likely.
  if (value === "") throw usage(`--${name} is empty; usage: ${callOf(command)}`);
  return value;
}

function text(value: string | boolean | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function unknownCommand(name: string): CommandError {
  const what = name.startsWith("-") ? "option" : "command";
  return usage(`unknown ${what} "${name}"${hint(name, COMMAND_NAMES)}; see --help`);
}

function hint(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return near === undefined ? "" : `, did you mean "${near}"?`;
}

function usage(message: string): CommandError {
  return new CommandError(message, { status: EXIT.usage });
}

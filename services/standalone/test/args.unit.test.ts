import { describe, expect, it } from "vitest";
import { CommandError } from "../src/exit.ts";
import { parseCommand } from "../src/args/parse-args.ts";

function failureOf(line: string): CommandError {
  try {
    parseCommand(line === "" ? [] : line.split(" "));
  } catch (error) {
    if (error instanceof CommandError) return error;
    throw error;
  }
  throw new Error(`"${line}" was accepted`);
}

describe("the command line", () => {
  it("serves all four services by default, and any set of them", () => {
    expect(parseCommand(["serve", "--config", "f.yaml"])).toEqual({
      name: "serve",
      config: "f.yaml",
      services: new Set(["router", "forwarder", "health", "facade"]),
      workers: 1,
    });
    expect(parseCommand("serve --services forwarder,router --config=f --workers 4".split(" "))).toEqual({
      name: "serve",
      config: "f",
      services: new Set(["router", "forwarder"]),
      workers: 4,
    });
  });

  it.each(["router", "forwarder", "health", "facade"] as const)("%s is a service alone", (name) => {
    const command = parseCommand([name, "--config", "f"]);
    expect(command).toMatchObject({ name: "serve", services: new Set([name]) });
  });

  it("reads the other commands", () => {
    expect(parseCommand(["validate", "f"])).toEqual({ name: "validate", file: "f" });
    expect(parseCommand(["apply", "f", "--dry-run", "--url", "http://h:1"])).toEqual({
      name: "apply",
      file: "f",
      url: "http://h:1",
      dryRun: true,
    });
    expect(parseCommand("explain --config f --key k --model m --json".split(" "))).toMatchObject({
      name: "explain",
      model: "m",
      json: true,
    });
    expect(parseCommand(["quickstart", "--http", "127.0.0.1:1"])).toMatchObject({ http: "127.0.0.1:1" });
    expect(parseCommand("replay --log l --config f --verify --max-cost-change 2.5%".split(" "))).toEqual({
      name: "replay",
      log: "l",
      config: "f",
      json: false,
      verify: true,
      limits: { shareChange: undefined, costChange: 2.5, failureRate: undefined },
    });
    expect(parseCommand(["--help"])).toMatchObject({ name: "help" });
    expect(parseCommand(["apply", "--help"])).toMatchObject({ name: "help" });
    expect(parseCommand(["--version"])).toEqual({ name: "version" });
  });

  it.each([
    ["", "a command is missing"],
    ["srve", 'did you mean "serve"?'],
    ["serve", "--config is missing"],
    ["serve --config", "--config"],
    ["serve --config f extra", 'unexpected argument "extra"'],
    ["serve --config f --worker 2", "--worker"],
    ["serve --config f --workers none", "--workers must be a number"],
    ["serve --config f --services roter", 'did you mean "router"?'],
    ["router --config f --services facade", "--services"],
    ["validate", "FILE is missing"],
    ["explain --config f --key k", "--model is missing"],
    ["explain --config f --key= --model m", "--key is empty"],
    ["replay --config f", "--log is missing"],
    ["replay --log l --config f --max-share-change little", "--max-share-change must be a number of percent"],
  ])("%j is wrong usage: one line, status 2", (line, message) => {
    const failure = failureOf(line);
    expect(failure.status).toBe(2);
    expect(failure.message).toContain(message);
    expect(failure.message).not.toContain("\n");
  });
});

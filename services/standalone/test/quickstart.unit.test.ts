import { readFileSync } from "node:fs";
import { validateConfig } from "@switchyard/config";
import { describe, expect, it } from "vitest";
import { quickstartConfig } from "../src/quickstart/quickstart-config.ts";
import { VENDORS } from "../src/quickstart/vendors.ts";
import { readyLine } from "../src/ready-line.ts";
import { VERSION } from "../src/version.ts";

const options = {
  listen: { http: "127.0.0.1:8080", rpc: "127.0.0.1:8081", ops: "127.0.0.1:9090" },
  demo: { steadyUrl: "http://127.0.0.1:1/steady/v1", flakyUrl: "http://127.0.0.1:1/flaky/v1" },
};

describe("the quickstart", () => {
  it("is a valid config without a warning when no variable is set", () => {
    const { config, joined } = quickstartConfig({ ...options, env: {} });
    expect(validateConfig(JSON.stringify(config))).toMatchObject({ faults: [], warnings: [] });
    expect(joined).toEqual([]);
  });

  it("takes in every real provider whose variables are set, and holds none of the secrets", () => {
    const env = Object.fromEntries(VENDORS.map(({ variable }) => [variable, "sk-secret"]));
    const { config, joined } = quickstartConfig({
      ...options,
      env: { ...env, AZURE_OPENAI_ENDPOINT: "https://me.openai.azure.com", AZURE_OPENAI_DEPLOYMENT: "mine" },
    });
    const text = JSON.stringify(config);
    expect(validateConfig(text).faults).toEqual([]);
    expect(text).not.toContain("sk-secret");
    expect(text).toContain('{"provider":"azure","model":"mine"}');
    expect(joined).toEqual(VENDORS);
  });

  it("leaves out an account whose address is not known", () => {
    const { joined } = quickstartConfig({ ...options, env: { AZURE_OPENAI_API_KEY: "sk" } });
    expect(joined).toEqual([]);
  });
});

describe("what the command says", () => {
  it("names only the listeners that are there, in the `ready` line", () => {
    const line = readyLine({ ops: "http://h:1", http: "http://h:2" }, new Set(["facade"]));
    expect(line).toBe("ready http=http://h:2 ops=http://h:1 services=facade");
  });

  it("tells the version of its package", () => {
    const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
    expect(manifest).toMatchObject({ version: VERSION });
  });
});

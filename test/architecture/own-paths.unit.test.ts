import { validateConfig } from "@switchyard/config";
import { expect, it } from "vitest";
import { findRoute } from "../../services/facade/src/routes.ts";

const SERVED = [
  "/v1/chat/completions",
  "/v1/embeddings",
  "/v1/responses",
  "/v1/responses/resp_1",
  "/v1/responses/resp_1/input_items",
  "/v1/responses/resp_1/cancel",
  "/v1/messages",
  "/v1/messages/count_tokens",
  "/v1/models",
  "/v1/models/m",
];

const faultsOf = (path: string): string[] => {
  const native_endpoints = [{ path, provider_families: ["openai"] }];
  return validateConfig(JSON.stringify({ native_endpoints })).faults.map((fault) => fault.path);
};

it.each(SERVED)("contracts 3: %s is the facade's own, so no config can name it a native endpoint", (path) => {
  expect(findRoute(path)).toBeDefined();
  expect(faultsOf(path)).toContain("native_endpoints[0].path");
});

it("contracts 2: another path is free", () => {
  expect(findRoute("/v1/systemone")).toBeUndefined();
  expect(faultsOf("/v1/systemone")).toEqual([]);
});

import { validateConfig } from "@switchyard/config";
import { createFacade } from "@switchyard/facade";
import { Metrics, SILENT } from "@switchyard/telemetry";
import { expect, it } from "vitest";

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

function faultsOf(path: string): string[] {
  const native_endpoints = [{ path, provider_families: ["openai"] }];
  return validateConfig(JSON.stringify({ native_endpoints })).faults.map((fault) => fault.path);
}

it("contracts 2, 3: a config can name any path a native endpoint but the facade's own", async () => {
  const facade = createFacade({
    inference: {
      infer: () => {
        throw new Error("not to be called");
      },
    },
    maxBodyBytes: 1000,
    logger: SILENT,
    metrics: new Metrics(),
  });
  const http = `http://${await facade.listen({ host: "127.0.0.1", port: 0 })}`;
  try {
    // A method that nothing takes tells which paths there are.
    const statusOf = async (path: string): Promise<number> =>
      (await fetch(`${http}${path}`, { method: "OPTIONS" })).status;
    for (const path of SERVED) {
      expect([path, await statusOf(path)]).toEqual([path, 405]);
      expect(faultsOf(path)).toContain("native_endpoints[0].path");
    }
    expect([await statusOf("/v1/systemone"), faultsOf("/v1/systemone")]).toEqual([404, []]);
  } finally {
    await facade.close(0);
  }
});

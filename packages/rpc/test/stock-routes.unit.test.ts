import { create } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import {
  DecideRequestSchema,
  DecideResponseSchema,
  RoutingService,
} from "@switchyard/proto/routing/v1/routing_service";
import { expect, test } from "vitest";
import { registration, toStockRoutes } from "../src/index.ts";
import { scripted } from "./contract.ts";

type Serve = (request: unknown, context: object) => Promise<unknown>;

test("a handler that is reached after its caller left knows it at once", async () => {
  let cancelled = false;
  const { routing } = scripted();
  const decide: typeof routing.decide = (_request, call) => {
    cancelled = call.cancelled;
    return create(DecideResponseSchema);
  };
  let served: Record<string, Serve> = {};
  const router = {
    service: (_service: unknown, methods: Record<string, Serve>) => {
      served = methods;
    },
  } as unknown as ConnectRouter;
  toStockRoutes([registration(RoutingService, { ...routing, decide })])(router);
  const request = create(DecideRequestSchema, { facts: { id: "r" } });
  const context = { signal: AbortSignal.abort(), requestHeader: new Headers(), timeoutMs: () => 0 };
  await served["decide"]?.(request, context);
  expect(cancelled).toBe(true);
});

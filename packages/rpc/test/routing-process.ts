// A router of its own process, for tests that kill it. Prints its url, then one line per request that it holds.
import { create } from "@bufbuild/protobuf";
import {
  type DecideResponse,
  DecideResponseSchema,
  ExplainResponseSchema,
  ListGroupsResponseSchema,
  RoutingService,
} from "@switchyard/proto/routing/v1/routing_service";
import { createRpcServer, registration } from "../src/index.ts";

const server = await createRpcServer({
  services: [
    registration(RoutingService, {
      decide: ({ facts }): DecideResponse | Promise<DecideResponse> => {
        if (facts?.model !== "hold") return create(DecideResponseSchema, { keyName: "child" });
        process.stdout.write("holding\n");
        return new Promise(() => {});
      },
      explain: () => create(ExplainResponseSchema),
      listGroups: () => create(ListGroupsResponseSchema),
    }),
  ],
  host: "127.0.0.1",
  port: 0,
});
process.stdout.write(`${server.url}\n`);

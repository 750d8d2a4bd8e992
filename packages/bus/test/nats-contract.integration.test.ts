import { comesTrue } from "@switchyard/testkit";
import { inject } from "vitest";
import { connectNatsBus } from "../src/index.ts";
import { describeBus } from "./contract.ts";

describeBus("NATS", async (onListenerError) => {
  const bus = connectNatsBus({ servers: [inject("natsUrl")], onListenerError });
  await comesTrue(() => bus.state === "connected");
  return bus;
});

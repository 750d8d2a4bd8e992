import { inject } from "vitest";
import { connectNatsBus } from "../src/index.ts";
import { describeBus } from "./contract.ts";
import { eventually } from "./support/eventually.ts";

describeBus("NATS", async (onListenerError) => {
  const bus = connectNatsBus({ servers: [inject("natsUrl")], onListenerError });
  await eventually("connected", () => bus.state === "connected");
  return bus;
});

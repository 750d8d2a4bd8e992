import type { TestProject } from "vitest/node";
import { startNatsServer } from "./support/nats-server.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** A real NATS server with JetStream, shared by all files of the project: use names of your own in it. */
    natsUrl: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startNatsServer();
  project.provide("natsUrl", server.url);
  return () => server.stop();
}

export type { ForwarderDeps } from "./deps.ts";
export { createForwarder } from "./forwarder.ts";
export type { Forwarder } from "./forwarder.ts";

export { SERVICES, type ServiceName } from "./args/command.ts";
export { parseCommand } from "./args/parse-args.ts";
export { CommandError, EXIT } from "./exit.ts";
export type { BoundAddresses, ListenerName } from "./node/addresses.ts";
export { FacadeFeed } from "./node/facade-feed.ts";
export { FileFeed } from "./node/file-feed.ts";
export { type NodeOptions, type RunningNode, startNode } from "./node/start-node.ts";
export { QUICKSTART_KEY, quickstartConfig } from "./quickstart/quickstart-config.ts";

import { DEFAULT_LISTEN, formatFault, validateConfig } from "@switchyard/config";
import { createLogger } from "@switchyard/telemetry";
import { SERVICES } from "../args/command.ts";
import type { QuickstartCommand } from "../args/command.ts";
import { startDemoProvider } from "../demo/demo-provider.ts";
import { CommandError, EXIT } from "../exit.ts";
import { drainOnSignal, endOnFaults } from "../lifecycle.ts";
import { drainMsOf, startNode } from "../node/start-node.ts";
import { QUICKSTART_KEY, quickstartConfig } from "../quickstart/quickstart-config.ts";
import type { Quickstart } from "../quickstart/quickstart-config.ts";
import { VENDORS } from "../quickstart/vendors.ts";
import { readyLine } from "../ready-line.ts";

/** Serves everything in one process with nothing to install and no key to have. */
export async function quickstart(command: QuickstartCommand): Promise<void> {
  const logger = createLogger();
  const demo = await startDemoProvider();
  const listen = {
    http: command.http ?? DEFAULT_LISTEN.http,
    rpc: command.rpc ?? DEFAULT_LISTEN.rpc,
    ops: command.ops ?? DEFAULT_LISTEN.ops,
  };
  const { config: data, joined } = quickstartConfig({ listen, demo, env: process.env });
  const { config, faults } = validateConfig(JSON.stringify(data));
  if (config === undefined) {
    throw new CommandError("the quickstart cannot serve", {
      status: EXIT.usage,
      // The listeners are all that a user can have given, and as options.
      lines: faults.map((fault) => formatFault(fault).replace(/^runtime\.listen\./u, "--")),
    });
  }
  const services = new Set(SERVICES);
  const node = await startNode({
    config,
    path: undefined,
    services,
    logger,
    listenHint: (name) => `take another one with --${name} HOST:PORT`,
    ops: true,
  });
  endOnFaults(logger);
  drainOnSignal({
    logger,
    drainMs: drainMsOf(config.runtime),
    drain: async (ms) => {
      await node.drain(ms);
      await demo.close();
    },
  });
  const lines = [
    readyLine(node.addresses, services),
    curlLine(node.addresses.http ?? ""),
    providersLine(joined),
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
}

function curlLine(url: string): string {
  const body = JSON.stringify({ model: "demo", messages: [{ role: "user", content: "Hello" }] });
  return (
    `curl -si ${url}/v1/chat/completions -H 'authorization: Bearer ${QUICKSTART_KEY}' ` +
    `-H 'content-type: application/json' -d '${body}'`
  );
}

function providersLine(joined: Quickstart["joined"]): string {
  if (joined.length === 0) {
    const variables = VENDORS.map(({ variable }) => variable).join(", ");
    return `Model: demo. No real provider joined; set one of ${variables} and start again.`;
  }
  const names = joined.map(({ name, chat, embeddings }) => {
    const models = [chat.group, ...(embeddings === undefined ? [] : [embeddings.group])];
    return `${name} (${models.join(", ")})`;
  });
  return `Models: demo, and of real providers that joined: ${names.join("; ")}.`;
}

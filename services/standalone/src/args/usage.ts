/** One line per command: how it is called and what it does. */
const COMMANDS: Readonly<Record<string, readonly [call: string, does: string]>> = {
  quickstart: [
    "[--http H:P] [--rpc H:P] [--ops H:P]",
    "everything with a demonstration provider, no key needed",
  ],
  serve: ["--config FILE [--services a,b] [--workers N]", "all four services, or some, in one process"],
  router: ["--config FILE [--workers N]", "only the router"],
  forwarder: ["--config FILE [--workers N]", "only the forwarder"],
  health: ["--config FILE [--workers N]", "only the health service"],
  facade: ["--config FILE [--workers N]", "only the HTTP facade"],
  validate: ["FILE", "checks a config: one line per fault"],
  apply: [
    "FILE [--url URL] [--dry-run]",
    "writes a config to a running cluster (key in SWITCHYARD_ADMIN_KEY)",
  ],
  explain: [
    "--config FILE --key K --model M [--body FILE] [--path PATH] [--json]",
    "how a request would be routed, and why",
  ],
  replay: [
    "--log FILE --config NEW [--verify] [--max-share-change P] [--max-cost-change P] [--max-failure-rate P] [--json]",
    "how recorded traffic would move under a config (recorded with SWITCHYARD_DECISION_LOG=FILE)",
  ],
};

export const COMMAND_NAMES: readonly string[] = Object.keys(COMMANDS);

/** How one command is called. */
export function callOf(command: string): string {
  return `switchyard ${command} ${COMMANDS[command]?.[0] ?? ""}`.trimEnd();
}

/** The text of `--help`: all commands, or one. */
export function helpText(command?: string): string {
  const names = command === undefined ? COMMAND_NAMES : [command];
  const lines = names.map((name) => `  ${callOf(name)}\n      ${COMMANDS[name]?.[1] ?? ""}`);
  return `Usage:\n${lines.join("\n")}\n\n  switchyard --help | --version\n`;
}

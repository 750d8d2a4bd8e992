import { formatFault, loadConfigFile } from "@switchyard/config";
import { EXIT } from "../exit.ts";

/** Checks a config: every fault on stdout, `path.to.field: what is wrong`; warnings on stderr. */
export async function validate(path: string): Promise<number> {
  const { config, faults, warnings } = await loadConfigFile(path);
  for (const warning of warnings) process.stderr.write(`warning: ${formatFault(warning)}\n`);
  for (const fault of faults) process.stdout.write(`${formatFault(fault)}\n`);
  if (config === undefined) return EXIT.failed;
  const parts = [
    counted(config.providers.length, "provider"),
    counted(config.groups.length, "group"),
    counted(config.keys.length, "key"),
  ];
  process.stdout.write(`${path} is valid: ${parts.join(", ")}\n`);
  return EXIT.ok;
}

/** An empty or misspelt file is seen by what it counts. */
function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

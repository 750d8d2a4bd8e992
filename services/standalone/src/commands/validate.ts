import { formatFault, loadConfigFile } from "@switchyard/config";
import { EXIT } from "../exit.ts";

/** Checks a config: every fault on stdout, `path.to.field: what is wrong`; warnings on stderr. */
export async function validate(path: string): Promise<number> {
  const { config, faults, warnings } = await loadConfigFile(path);
  for (const warning of warnings) process.stderr.write(`warning: ${formatFault(warning)}\n`);
  for (const fault of faults) process.stdout.write(`${formatFault(fault)}\n`);
  if (config === undefined) return EXIT.failed;
  process.stdout.write(`${path} is valid\n`);
  return EXIT.ok;
}

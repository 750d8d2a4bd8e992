import { formatFault, loadConfigFile } from "@switchyard/config";
import type { Findings, LoadedFile } from "@switchyard/config";
import type { Config } from "@switchyard/proto/config/v1/config";
import { CommandError } from "../exit.ts";

/** A valid config, and what is only worth saying about it. */
export interface ReadConfig {
  readonly config: Config;
  /** The file as it was read, for those who watch it from then on. */
  readonly file: LoadedFile;
  readonly warnings: readonly string[];
}

/** Reads a config for a command that needs a valid one; a bad one ends the command with all its faults. */
export async function readConfig(path: string): Promise<ReadConfig> {
  const file = await loadConfigFile(path);
  const { config, faults, warnings } = file;
  if (config === undefined) throw badConfig(path, faults);
  return { config, file, warnings: warnings.map(formatFault) };
}

/** One clear line, then one per fault. */
export function badConfig(path: string, faults: Findings["faults"]): CommandError {
  const [first] = faults;
  // A file that cannot be read is one fault about nothing inside it.
  if (faults.length === 1 && first?.path === "") return new CommandError(first.message);
  const count = faults.length === 1 ? "1 fault" : `${faults.length} faults`;
  return new CommandError(`${path} is not a valid config: ${count}`, { lines: faults.map(formatFault) });
}

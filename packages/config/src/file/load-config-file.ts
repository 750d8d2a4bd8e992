import { MAX_TEXT_LENGTH } from "../decode/parse-text.ts";
import { validateConfig } from "../validate/validate-config.ts";
import type { LoadedConfig } from "../validate/validate-config.ts";
import { readBounded } from "./read-bounded.ts";

/** A config file as it was read. */
export interface LoadedFile extends LoadedConfig {
  /** What stood in the file; undefined when it could not be read. A watcher takes it as what is known already. */
  readonly text: string | undefined;
}

/** Reads and checks a config file. A file that cannot be read is a fault like any other; never throws. */
export async function loadConfigFile(path: string): Promise<LoadedFile> {
  const read = await readConfigText(path);
  if ("text" in read) return { ...validateConfig(read.text), text: read.text };
  return { config: undefined, faults: [{ path: "", message: read.fault }], warnings: [], text: undefined };
}

async function readConfigText(path: string): Promise<{ readonly text: string } | { readonly fault: string }> {
  try {
    const text = await readBounded(path, MAX_TEXT_LENGTH);
    return text === undefined ? { fault: `${path} is larger than 16 MiB` } : { text };
  } catch (error) {
    return { fault: `${path} cannot be read: ${codeWords(error)}` };
  }
}

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "permission denied",
  EISDIR: "it is a directory",
};

function codeWords(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
  return WORDS[code] ?? code;
}

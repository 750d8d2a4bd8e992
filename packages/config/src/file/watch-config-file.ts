import { stat } from "node:fs/promises";
import type { Config } from "@switchyard/proto/config/v1/config";
import type { LoadedFile } from "./load-config-file.ts";
import type { LoadedConfig } from "../validate/validate-config.ts";
import { loadConfigFile } from "./load-config-file.ts";
import { secretFiles } from "./secret-files.ts";

/** What a watcher saw: the file as it is now, or the same config with other secrets in the files that it names. */
export interface ConfigChange extends LoadedConfig {
  readonly cause: "config" | "secrets";
}

/** How often a watcher looks, ms, and what is known already. */
export interface WatchOptions {
  /** At the config file. An edit is reported once two looks agree, so within two of these. */
  readonly everyMs?: number;
  /** At the secret files that the last good config names. */
  readonly secretsEveryMs?: number;
  /** The file as it was loaded, so that an edit since then is reported too. Else the first look is what is known. */
  readonly since?: LoadedFile;
}

/** Whoever starts a watcher closes it. No change is reported after `close`. */
export interface ConfigWatcher {
  close(): void;
}

const EVERY_MS = 250;
const SECRETS_EVERY_MS = 2000;

/**
 * Calls `onChange` whenever the file's text has become another. A change with faults has no config: the caller
 * keeps the last good one.
 *
 * The file is looked at rather than subscribed to: that sees edits in place, editors that put a new file under the
 * old name, and directories behind a symbolic link that is swapped, on every kind of file system alike, for a few
 * system calls a second.
 */
export function watchConfigFile(
  path: string,
  onChange: (change: ConfigChange) => void,
  options: WatchOptions = {},
): ConfigWatcher {
  const watch = new FileWatch(path, onChange, options.since);
  const configTimer = repeat(() => watch.lookAtConfig(), options.everyMs ?? EVERY_MS);
  const secretsTimer = repeat(() => watch.lookAtSecrets(), options.secretsEveryMs ?? SECRETS_EVERY_MS);
  return {
    close() {
      watch.closed = true;
      clearInterval(configTimer);
      clearInterval(secretsTimer);
    },
  };
}

class FileWatch {
  closed = false;
  readonly #path: string;
  readonly #onChange: (change: ConfigChange) => void;
  #lastLook: string | undefined;
  #readLook: string | undefined;
  #known: LoadedFile | undefined;
  #config: Config | undefined;
  #secretsLook: string | undefined;

  constructor(path: string, onChange: (change: ConfigChange) => void, since: LoadedFile | undefined) {
    this.#path = path;
    this.#onChange = onChange;
    if (since !== undefined) this.#know(since);
  }

  async lookAtConfig(): Promise<void> {
    const look = await signature(this.#path);
    const isSettled = look === this.#lastLook || this.#lastLook === undefined;
    this.#lastLook = look;
    if (!isSettled || look === this.#readLook) return;
    const { text, ...loaded } = await loadConfigFile(this.#path);
    this.#readLook = look;
    const known = this.#known;
    if (this.closed || (known !== undefined && isSame(known, { text, ...loaded }))) return;
    this.#know({ text, ...loaded });
    if (known === undefined) await this.lookAtSecrets();
    else this.#onChange({ ...loaded, cause: "config" });
  }

  #know(file: LoadedFile): void {
    this.#known = file;
    this.#config = file.config ?? this.#config;
  }

  async lookAtSecrets(): Promise<void> {
    const config = this.#config;
    if (config === undefined) return;
    const files = secretFiles(config);
    const looks = await Promise.all(files.map(async (file) => `${file}\n${await signature(file)}`));
    const look = looks.join("\n");
    const before = this.#secretsLook;
    // Other files than before: the config that names them was reported, and whoever applied it has just read them.
    const isSameFiles = before !== undefined && sameFiles(before, look);
    this.#secretsLook = look;
    if (this.closed || !isSameFiles || look === before) return;
    this.#onChange({ config, faults: [], warnings: [], cause: "secrets" });
  }
}

/** A file that could not be read is the same as long as the reason is. */
function isSame(a: LoadedFile, b: LoadedFile): boolean {
  if (a.text !== undefined || b.text !== undefined) return a.text === b.text;
  return a.faults[0]?.message === b.faults[0]?.message;
}

function sameFiles(before: string, now: string): boolean {
  const names = (look: string): string =>
    look
      .split("\n")
      .filter((_, index) => index % 2 === 0)
      .join("\n");
  return names(before) === names(now);
}

/** What changes when a file, or what a link leads to, becomes another. */
async function signature(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : "unreadable";
  }
}

/** Calls `look` every so often, never twice at once, and does not keep the process alive. `look` does not throw. */
function repeat(look: () => Promise<void>, everyMs: number): NodeJS.Timeout {
  let isLooking = false;
  const once = (): void => {
    if (isLooking) return;
    isLooking = true;
    void look().finally(() => {
      isLooking = false;
    });
  };
  once();
  return setInterval(once, everyMs).unref();
}

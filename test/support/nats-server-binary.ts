import { execFileSync } from "node:child_process";
import {
  accessSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { delimiter, join } from "node:path";

const cacheFolder = join(import.meta.dirname, "../../.cache/nats");
const cachedBinary = join(cacheFolder, "nats-server");
const commandTimeoutMs = 180_000;

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Looks in `$NATS_SERVER`, PATH, /usr/sbin (not in a plain user's PATH) and the cache folder. */
export function findNatsServer(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const named = env["NATS_SERVER"];
  if (named !== undefined && named !== "") {
    if (!isProgram(named)) throw new Error(`NATS_SERVER names ${named}, which is not a program`);
    return named;
  }
  const folders = [...(env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== ""), "/usr/sbin"];
  return [...folders.map((folder) => join(folder, "nats-server")), cachedBinary].find(isProgram);
}

/** Unpacks Debian's nats-server package into the cache folder: needs neither root nor an earlier `apt-get update`. */
export function installNatsServer(): string {
  mkdirSync(cacheFolder, { recursive: true });
  const work = mkdtempSync(join(cacheFolder, "install-"));
  try {
    for (const folder of ["lists/partial", "archives/partial"])
      mkdirSync(join(work, folder), { recursive: true });
    const options = [
      `Dir::State::lists=${work}/lists`,
      `Dir::Cache=${work}`,
      "Debug::NoLocking=1",
      "Acquire::Retries=2",
    ];
    const apt = (...args: string[]): void =>
      run("apt-get", [...options.flatMap((option) => ["-o", option]), "-q", ...args], work);
    apt("update");
    apt("download", "nats-server");
    const archive = readdirSync(work).find((name) => name.endsWith(".deb"));
    if (archive === undefined) throw new Error("apt-get download left no package");
    run("dpkg-deb", ["-x", archive, "root"], work);
    // Two runs may install at once: a rename makes either result whole.
    renameSync(join(work, "root/usr/sbin/nats-server"), cachedBinary);
    return cachedBinary;
  } catch (error) {
    const reason = error instanceof Error ? mainLine(error.message) : String(error);
    throw new Error(
      `no nats-server found, and none could be installed (${reason}): install nats-server 2.9 or later, or name it in NATS_SERVER`,
      { cause: error },
    );
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function mainLine(message: string): string {
  const lines = message.split("\n");
  return lines.find((line) => line.startsWith("E: ")) ?? lines[0] ?? "";
}

function run(command: string, args: readonly string[], cwd: string): void {
  execFileSync(command, args, { cwd, stdio: ["ignore", "ignore", "pipe"], timeout: commandTimeoutMs });
}

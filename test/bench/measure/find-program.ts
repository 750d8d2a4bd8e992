import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** In PATH or /usr/sbin, which a plain user's PATH lacks. */
export function findProgram(name: string): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return [...folders, "/usr/sbin"].map((folder) => join(folder, name)).find(isProgram);
}

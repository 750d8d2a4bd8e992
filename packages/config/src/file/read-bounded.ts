import { open } from "node:fs/promises";

/** Reads a UTF-8 file of at most `maxBytes`; undefined when it is larger. Throws what the file system says. */
export async function readBounded(path: string, maxBytes: number): Promise<string | undefined> {
  await using handle = await open(path, "r");
  const { size } = await handle.stat();
  if (size > maxBytes) return undefined;
  // One byte more than allowed, so that a file that grows meanwhile (or a device) is noticed.
  const buffer = Buffer.alloc(maxBytes < 0 ? 0 : Math.min(maxBytes, Math.max(size, MIN_READ)) + 1);
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, null);
    if (bytesRead === 0) return buffer.toString("utf8", 0, length);
    length += bytesRead;
  }
  return undefined;
}

/** Files that tell no size, such as pipes under /dev/fd, are read up to this. */
const MIN_READ = 1024 * 1024;

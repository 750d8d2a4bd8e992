import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { loadConfigFile, watchConfigFile } from "../src/index.ts";
import type { ConfigChange, WatchOptions } from "../src/index.ts";
import { withText } from "./support/base.ts";

const FAST = { everyMs: 20, secretsEveryMs: 30 };

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "config-watch-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

const team = (name: string) => withText({ teams: [{ name }] });

/** Watches a file that was just loaded, as services do. */
async function watch(path: string, options: WatchOptions = FAST) {
  const changes: ConfigChange[] = [];
  const since = await loadConfigFile(path);
  const watcher = watchConfigFile(path, (change) => changes.push(change), { since, ...options });
  onTestFinished(() => watcher.close());
  /** Team names of the configs seen, `!` for one with faults. */
  const seen = () =>
    changes.map(({ config, cause }) => (cause === "secrets" ? "secrets" : (config?.teams[0]?.name ?? "!")));
  return {
    changes,
    watcher,
    seen,
    until: (count: number) => vi.waitUntil(() => changes.length >= count, { timeout: 5000, interval: 10 }),
  };
}

test("an edit in place is reported; the file as it was is not", async () => {
  const path = join(folder(), "config.yaml");
  writeFileSync(path, team("a"));
  const { seen, until } = await watch(path);
  writeFileSync(path, team("b"));
  await until(1);
  expect(seen()).toEqual(["b"]);
});

test("an edit between loading and watching is reported", async () => {
  const path = join(folder(), "config.yaml");
  writeFileSync(path, team("a"));
  const since = await loadConfigFile(path);
  writeFileSync(path, team("b"));
  const { seen, until } = await watch(path, { ...FAST, since });
  await until(1);
  expect(seen()).toEqual(["b"]);
});

test("an editor that puts a new file under the old name is noticed, twice over", async () => {
  const at = folder();
  const path = join(at, "config.yaml");
  writeFileSync(path, team("a"));
  const { seen, until } = await watch(path);
  for (const [name, expected] of [
    ["b", ["b"]],
    ["c", ["b", "c"]],
  ] as const) {
    writeFileSync(join(at, "config.yaml~"), team(name));
    renameSync(join(at, "config.yaml~"), path);
    await until(expected.length);
    expect(seen()).toEqual(expected);
  }
});

test("a swapped link to a directory is noticed, as Kubernetes mounts config maps", async () => {
  const at = folder();
  for (const name of ["a", "b"]) {
    mkdirSync(join(at, `..${name}`));
    writeFileSync(join(at, `..${name}`, "config.yaml"), team(name));
  }
  symlinkSync("..a", join(at, "..data"));
  symlinkSync(join("..data", "config.yaml"), join(at, "config.yaml"));
  const { seen, until } = await watch(join(at, "config.yaml"));
  symlinkSync("..b", join(at, "..data_tmp"));
  renameSync(join(at, "..data_tmp"), join(at, "..data"));
  await until(1);
  expect(seen()).toEqual(["b"]);
});

test("an invalid edit is reported with its faults and no config, then a good one with its config", async () => {
  const path = join(folder(), "config.yaml");
  writeFileSync(path, team("a"));
  const { changes, seen, until } = await watch(path);
  writeFileSync(path, "groups: [");
  await until(1);
  expect(seen()).toEqual(["!"]);
  expect(changes[0]).toMatchObject({ config: undefined, cause: "config" });
  expect(changes[0]?.faults).toHaveLength(1);
  writeFileSync(path, team("c"));
  await until(2);
  expect(seen()).toEqual(["!", "c"]);
});

test("a file that goes away is a fault, and is taken again when it comes back", async () => {
  const path = join(folder(), "config.yaml");
  writeFileSync(path, team("a"));
  const { changes, seen, until } = await watch(path);
  rmSync(path);
  await until(1);
  expect(seen()).toEqual(["!"]);
  expect(changes[0]?.faults).toEqual([
    { path: "", message: `${path} cannot be read: there is no such file` },
  ]);
  writeFileSync(path, team("a"));
  await until(2);
  expect(seen()).toEqual(["!", "a"]);
});

test("touching a file without changing it is not reported", async () => {
  const at = folder();
  const [path, marker] = [join(at, "config.yaml"), join(at, "marker.yaml")];
  writeFileSync(path, team("a"));
  writeFileSync(marker, team("a"));
  const { seen } = await watch(path);
  const { until } = await watch(marker);
  writeFileSync(path, team("a"));
  // By the time that two later edits beside it were noticed, the touched file has been looked at.
  writeFileSync(marker, team("b"));
  await until(1);
  writeFileSync(marker, team("c"));
  await until(2);
  expect(seen()).toEqual([]);
});

test("a change of a secret file is reported with the same config", async () => {
  const at = folder();
  const [path, secret] = [join(at, "config.yaml"), join(at, "key")];
  writeFileSync(secret, "sk-1");
  writeFileSync(path, withText({ teams: [{ name: "a" }], keys: [{ name: "k", secret: { file: secret } }] }));
  const { changes } = await watch(path);
  // Written again and again, since the first look at the secrets only sets what later looks are compared with.
  let secretText = "sk-1";
  const changeSecret = () => {
    secretText += "x";
    writeFileSync(secret, secretText);
    expect(changes.length).toBeGreaterThan(0);
  };
  await vi.waitFor(changeSecret, { timeout: 5000, interval: 50 });
  expect(changes[0]).toMatchObject({ cause: "secrets", faults: [] });
  expect(changes[0]?.config?.keys).toHaveLength(1);
});

test("nothing is reported after close", async () => {
  const path = join(folder(), "config.yaml");
  writeFileSync(path, team("a"));
  const closed = await watch(path);
  const open = await watch(path);
  closed.watcher.close();
  writeFileSync(path, team("b"));
  await open.until(1);
  expect(open.seen()).toEqual(["b"]);
  expect(closed.seen()).toEqual([]);
});

test("loading tells what is wrong with the file itself", async () => {
  const at = folder();
  expect((await loadConfigFile(at)).faults[0]?.message).toContain("cannot be read: it is a directory");
  writeFileSync(join(at, "big"), " ".repeat(16 * 1024 * 1024 + 1));
  expect((await loadConfigFile(join(at, "big"))).faults[0]?.message).toContain("larger than 16 MiB");
  writeFileSync(join(at, "good"), team("a"));
  expect(await loadConfigFile(join(at, "good"))).toMatchObject({
    text: team("a"),
    faults: [],
    config: { teams: [{ name: "a" }] },
  });
});

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryBus } from "@switchyard/bus";
import { BUCKETS, createStoreFeed, FeedState } from "@switchyard/cluster";
import type { AppliedConfig, ConfigFeed } from "@switchyard/cluster";
import { loadConfigFile } from "@switchyard/config";
import type { Config } from "@switchyard/proto/config/v1/config";
import { FacadeFeed, FileFeed } from "@switchyard/standalone";
import { SILENT } from "@switchyard/telemetry";
import { eventually, within } from "@switchyard/testkit";
import { afterEach, describe, expect, it } from "vitest";

/** A config feed and how whoever rules it changes what it gives. */
interface Source {
  readonly feed: ConfigFeed;
  readonly change: (weight: number) => Promise<void>;
}

type Open = (owner: AsyncDisposableStack) => Promise<Source>;

const configText = (weight: number): string => `
providers:
  - { name: a, family: openai_compatible, base_url: "http://127.0.0.1:1/v1", credential: { env: HOME } }
groups:
  - { name: g, deployments: [{ provider: a, model: m, weight: ${weight} }] }
`;

const weightOf = (applied: AppliedConfig | undefined): number | undefined =>
  applied?.config.groups[0]?.deployments[0]?.weight;

/** The config as the product reads it, from a file of its own. */
async function configOf(weight: number, owner: AsyncDisposableStack): Promise<Config> {
  const { config } = await loadConfigFile(fileOf(weight, owner));
  if (config === undefined) throw new Error("the config must be right");
  return config;
}

function fileOf(weight: number, owner: AsyncDisposableStack): string {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-feed-"));
  owner.defer(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "config.yaml");
  writeFileSync(path, configText(weight));
  return path;
}

const FEEDS: readonly { readonly name: string; readonly open: Open; readonly empty?: Open }[] = [
  {
    name: "in memory",
    empty: async (owner) => {
      const feed = new FeedState();
      let revision = 0;
      return {
        feed,
        change: async (weight) => {
          revision += 1;
          feed.replace({ config: await configOf(weight, owner), revision });
        },
      };
    },
    open: async (owner) => {
      const feed = new FeedState();
      feed.replace({ config: await configOf(1, owner), revision: 1 });
      return {
        feed,
        change: async (weight) => {
          const revision = (feed.current()?.revision ?? 0) + 1;
          feed.replace({ config: await configOf(weight, owner), revision });
        },
      };
    },
  },
  {
    name: "the store's, at the one who writes",
    empty: (owner) => storeFeed(owner, undefined, false),
    open: (owner) => storeFeed(owner, 1, false),
  },
  {
    name: "the store's, at one who reads",
    empty: (owner) => storeFeed(owner, undefined, true),
    open: (owner) => storeFeed(owner, 1, true),
  },
  {
    name: "the store's, at a facade alone",
    open: async (owner) => {
      const { feed, change } = await storeFeed(owner, 1, true);
      await feed.ready(5_000);
      return { feed: new FacadeFeed(feed, await configOf(9, owner)), change };
    },
  },
  {
    name: "the file's",
    open: async (owner) => {
      const path = fileOf(1, owner);
      const loaded = await loadConfigFile(path);
      if (loaded.config === undefined) throw new Error("the config must be right");
      return {
        feed: new FileFeed(path, loaded, loaded.config, SILENT),
        change: async (weight) => writeFileSync(path, configText(weight)),
      };
    },
  },
];

async function storeFeed(
  owner: AsyncDisposableStack,
  seed: number | undefined,
  reads: boolean,
): Promise<Source> {
  const bus = createMemoryBus();
  owner.defer(() => bus.close());
  const open = async (weight: number | undefined, writes: boolean) => {
    const feed = createStoreFeed({
      store: bus.keyValue(BUCKETS.config),
      seed: weight === undefined ? undefined : await configOf(weight, owner),
      now: Date.now,
      report: () => {},
      faultsOf: () => [],
      writes,
    });
    owner.defer(() => feed.close());
    return feed;
  };
  const writer = await open(seed, true);
  return {
    feed: reads ? await open(undefined, false) : writer,
    change: async (weight) => {
      await writer.apply(await configOf(weight, owner), "boss", undefined);
    },
  };
}

const owners: AsyncDisposableStack[] = [];
afterEach(async () => {
  for (const owner of owners.splice(0)) await owner.disposeAsync();
});

async function start(open: Open): Promise<Source> {
  const owner = new AsyncDisposableStack();
  owners.push(owner);
  const source = await open(owner);
  owner.defer(() => source.feed.close());
  return source;
}

describe.each(FEEDS)("a config feed: $name", ({ open, empty }) => {
  it("is ready with the config that it then gives", async () => {
    const { feed } = await start(open);
    const applied = await feed.ready(5_000);
    expect([applied?.revision, weightOf(applied)]).toEqual([1, 1]);
    expect(feed.current()).toBe(applied);
    expect(await feed.ready(0)).toBe(applied);
  });

  it("K5: tells the present config at once, then each change, with growing revisions", async () => {
    const { feed, change } = await start(open);
    await feed.ready(5_000);
    const early: (number | undefined)[][] = [];
    const late: (number | undefined)[][] = [];
    feed.subscribe((applied) => early.push([applied.revision, weightOf(applied)]));
    expect(early).toEqual([[1, 1]]);
    await change(2);
    await eventually(() => expect(early).toHaveLength(2));
    feed.subscribe((applied) => late.push([applied.revision, weightOf(applied)]));
    await change(3);
    await eventually(() => expect(late).toHaveLength(2));
    expect([early, late]).toEqual([
      [
        [1, 1],
        [2, 2],
        [3, 3],
      ],
      [
        [2, 2],
        [3, 3],
      ],
    ]);
    expect(feed.current()?.revision).toBe(3);
  });

  it("tells no more to who has left, and goes on telling the others", async () => {
    const { feed, change } = await start(open);
    await feed.ready(5_000);
    const left: number[] = [];
    const stays: number[] = [];
    const leave = feed.subscribe(({ revision }) => left.push(revision));
    feed.subscribe(({ revision }) => stays.push(revision));
    leave();
    leave();
    await change(2);
    await eventually(() => expect(stays).toEqual([1, 2]));
    expect(left).toEqual([1]);
  });

  it("may be left and joined from within a listener", async () => {
    const { feed, change } = await start(open);
    await feed.ready(5_000);
    const joined: number[] = [];
    const stop = feed.subscribe(({ revision }) => {
      if (revision !== 2) return;
      stop();
      feed.subscribe((applied) => joined.push(applied.revision));
    });
    await change(2);
    await eventually(() => expect(joined).toContain(2));
    await change(3);
    await eventually(() => expect(joined.at(-1)).toBe(3));
    expect(joined).toEqual([2, 3]);
  });

  it("tells nobody after it was closed, again harmless", async () => {
    const { feed, change } = await start(open);
    await feed.ready(5_000);
    const seen: number[] = [];
    feed.subscribe(({ revision }) => seen.push(revision));
    feed.close();
    feed.close();
    await change(2);
    const other = await start(open);
    await other.feed.ready(5_000);
    await other.change(2);
    await eventually(() => expect(other.feed.current()?.revision).toBe(2));
    expect(seen).toEqual([1]);
  });

  if (empty === undefined) return;

  it("without a config is not ready, and says so in time", async () => {
    const { feed } = await start(empty);
    expect(feed.current()).toBeUndefined();
    expect(await feed.ready(10)).toBeUndefined();
  });

  it("becomes ready when a config comes, for all who wait", async () => {
    const { feed, change } = await start(empty);
    const waiting = [feed.ready(5_000), feed.ready(5_000)];
    await change(4);
    expect((await Promise.all(waiting)).map(weightOf)).toEqual([4, 4]);
  });

  it("lets nobody wait for a config once it is closed", async () => {
    const { feed } = await start(empty);
    const waiting = feed.ready(60_000);
    feed.close();
    expect(await within(2_000, waiting, () => "still waiting")).toBeUndefined();
    expect(await within(2_000, feed.ready(60_000), () => "still waiting")).toBeUndefined();
  });
});

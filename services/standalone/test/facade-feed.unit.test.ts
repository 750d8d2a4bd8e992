import { create } from "@bufbuild/protobuf";
import { FeedState } from "@switchyard/cluster";
import { ConfigSchema } from "@switchyard/proto/config/v1/config";
import type { Config } from "@switchyard/proto/config/v1/config";
import { expect, test } from "vitest";
import { FacadeFeed } from "../src/node/facade-feed.ts";

const configOf = (path: string): Config => create(ConfigSchema, { nativeEndpoints: [{ path }] });

const OWN = configOf("/v1/own");

test("a facade alone serves by its own file until there is a stored config, and follows that", () => {
  const stored = new FeedState();
  const feed = new FacadeFeed(stored, OWN);
  const seen: (string | undefined)[] = [];
  feed.subscribe(({ config, revision }) => seen.push(`${revision} ${config.nativeEndpoints[0]?.path}`));
  stored.replace({ config: configOf("/v1/first"), revision: 7 });
  stored.replace({ config: configOf("/v1/second"), revision: 8 });
  expect(seen).toEqual(["0 /v1/own", "7 /v1/first", "8 /v1/second"]);
  expect(feed.current()?.revision).toBe(8);
});

test("what is stored already counts at once, and nothing does after the end", () => {
  const stored = new FeedState();
  stored.replace({ config: configOf("/v1/first"), revision: 7 });
  const feed = new FacadeFeed(stored, OWN);
  expect(feed.current()?.revision).toBe(7);
  feed.close();
  stored.replace({ config: configOf("/v1/second"), revision: 8 });
  expect(feed.current()?.revision).toBe(7);
});

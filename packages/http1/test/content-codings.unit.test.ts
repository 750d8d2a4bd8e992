import { expect, test } from "vitest";
import { contentCodings } from "../src/content-codings.ts";

test.each([
  [undefined, []],
  ["", []],
  ["identity", []],
  ["identity, gzip", ["gzip"]],
  ["GZIP", ["gzip"]],
  ["x-gzip, br", ["br", "gzip"]],
  ["gzip,", ["gzip"]],
  ["zstd,deflate,identity", ["deflate", "zstd"]],
  ["zebra", undefined],
  ["gzip, zebra", undefined],
  ["gzip,gzip,gzip,gzip", undefined],
  ["constructor", undefined],
])("BH-38, BH-39: coding %j is undone as %j", (header, codings) => {
  expect(contentCodings(header)).toEqual(codings);
});

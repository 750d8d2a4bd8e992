import { isMessage } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import { isReflectList, isReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import type { ReflectMessage } from "@bufbuild/protobuf/reflect";
import { parseExpression } from "@switchyard/core";
import { ConfigSchema } from "@switchyard/proto/config/v1/config";
import { AffinityBy, BenchScope, Preset } from "@switchyard/proto/config/v1/policy";
import { durationMs } from "../decode/duration.ts";
import { fieldPath, itemPath } from "../fault.ts";
import type { Fault } from "../fault.ts";
import { duplicates, eachAt } from "./check.ts";
import type { Check } from "./check.ts";

/** R11, F5: an expression and `by: expression` belong together, and it says what it selects. */
export const expressions: Check = (config) => {
  const faults: Fault[] = [];
  eachAt(config.groups, "groups", ({ policy }, at) => {
    const affinity = policy?.affinity;
    if (affinity === undefined) return;
    const path = `${at}.policy.affinity.expression`;
    const wanted = affinity.by === AffinityBy.EXPRESSION;
    if (wanted && affinity.expression === "")
      faults.push({ path, message: 'is missing with "by: expression"' });
    if (!wanted && affinity.expression !== "")
      faults.push({ path, message: 'is given without "by: expression"' });
    if (!wanted || affinity.expression === "") return;
    const parsed = parseExpression(affinity.expression);
    if (!parsed.ok) faults.push({ path, message: parsed.message });
  });
  return faults;
};

const STICKY_LIST_BOUNDS_MS = [1000, 300_000] as const;

/** R11: D's preset bounds the time of an attempt to 1 to 300 s. */
export const stickyListTimes: Check = (config) => {
  const faults: Fault[] = [];
  eachAt(config.groups, "groups", ({ policy }, at) => {
    if (policy?.preset !== Preset.STICKY_LIST || policy.attemptTimeout === undefined) return;
    const ms = durationMs(policy.attemptTimeout);
    if (ms >= STICKY_LIST_BOUNDS_MS[0] && ms <= STICKY_LIST_BOUNDS_MS[1]) return;
    faults.push({
      path: `${at}.policy.attempt_timeout`,
      message: "must be from 1s to 300s under preset sticky_list",
    });
  });
  return faults;
};

/** A bench table has one row for a class, and a scope belongs to a cool-off. */
export const benchTables: Check = (config) => {
  const faults: Fault[] = [];
  eachAt(config.groups, "groups", ({ policy }, at) => {
    const rows = policy?.bench?.table ?? [];
    const path = `${at}.policy.bench.table`;
    faults.push(...duplicates(rows, path, "error", ({ error }) => String(error), "the class"));
    eachAt(rows, path, ({ scope, cooloff }, row) => {
      if (scope === BenchScope.UNSPECIFIED || cooloff !== undefined) return;
      faults.push({ path: `${row}.scope`, message: "is given without a cooloff" });
    });
  });
  return faults;
};

/** Percentages of a ramp rise. */
export const risingRamps: Check = (config) => {
  const faults: Fault[] = [];
  eachAt(config.groups, "groups", ({ policy }, at) => {
    const values = policy?.bench?.ramp?.values ?? [];
    const falls = values.findIndex((value, index) => index > 0 && value <= (values[index - 1] ?? 0));
    if (falls === -1) return;
    faults.push({
      path: `${at}.policy.bench.ramp[${falls}]`,
      message: "must be higher than the percentage before it",
    });
  });
  return faults;
};

/** Longest time anywhere in a config, ms: a day. A timer of more than 24 days would fire at once. */
const MAX_TIME_MS = 86_400_000;

/** No time is longer than a day. */
export const boundedTimes: Check = (config) => {
  const faults: Fault[] = [];
  eachDuration(reflect(ConfigSchema, config), "", (duration, path) => {
    if (durationMs(duration) > MAX_TIME_MS) faults.push({ path, message: "must be at most 24h" });
  });
  return faults;
};

function eachDuration(
  message: ReflectMessage,
  path: string,
  visit: (duration: Duration, path: string) => void,
): void {
  const visitMessage = (nested: unknown, at: string): void => {
    if (!isReflectMessage(nested)) return;
    if (isMessage(nested.message, DurationSchema)) visit(nested.message, at);
    else eachDuration(nested, at, visit);
  };
  for (const field of message.fields) {
    if (field.message === undefined || !message.isSet(field)) continue;
    const at = fieldPath(path, field.name);
    const value: unknown = message.get(field);
    if (isReflectList(value)) {
      for (const [index, item] of value.entries()) visitMessage(item, itemPath(at, index));
    } else {
      visitMessage(value, at);
    }
  }
}

import { Preset, PolicySchema } from "@switchyard/proto/config/v1/policy";
import type { Policy } from "@switchyard/proto/config/v1/policy";
import type { Fault } from "../fault.ts";
import { formatFault } from "../fault.ts";
import { decodeMessage } from "../decode/decode-message.ts";
import { COOLDOWN_POOL } from "./cooldown-pool.ts";
import { GROUP_FAILOVER } from "./group-failover.ts";
import { STICKY_LIST } from "./sticky-list.ts";
import { WEIGHTED_PRIMARY } from "./weighted-primary.ts";

const PRESETS: ReadonlyMap<Preset, Policy> = new Map<Preset, Policy>([
  [Preset.GROUP_FAILOVER, decodePreset("group_failover", GROUP_FAILOVER)],
  [Preset.WEIGHTED_PRIMARY, decodePreset("weighted_primary", WEIGHTED_PRIMARY)],
  [Preset.COOLDOWN_POOL, decodePreset("cooldown_pool", COOLDOWN_POOL)],
  [Preset.STICKY_LIST, decodePreset("sticky_list", STICKY_LIST)],
]);

/** A preset's policy with every field set; `group_failover` where none is named. Shared: never edited. */
export function presetPolicy(preset: Preset): Policy {
  const policy = PRESETS.get(preset) ?? PRESETS.get(Preset.GROUP_FAILOVER);
  if (policy === undefined) throw new Error("presets lack group_failover");
  return policy;
}

function decodePreset(preset: string, data: object): Policy {
  const faults: Fault[] = [];
  const policy = decodeMessage(PolicySchema, { preset, ...data }, preset, faults);
  if (faults.length > 0) throw new Error(faults.map(formatFault).join("; "));
  return policy;
}

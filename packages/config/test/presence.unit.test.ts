import { create, ScalarType } from "@bufbuild/protobuf";
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { isReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import type { ReflectMessage } from "@bufbuild/protobuf/reflect";
import { DurationSchema, FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { PolicySchema } from "@switchyard/proto/config/v1/policy";
import { describe, expect, it } from "vitest";
import { decodeConfig, encodeConfig, resolvePolicy } from "../src/index.ts";
import { wrappedList } from "../src/decode/schema-forms.ts";
import { mergePolicy } from "../src/presets/merge-policy.ts";

const PRESETS = ["group_failover", "weighted_primary", "cooldown_pool", "sticky_list"];

/** Every field of a policy that holds a value of its own, by its path in a config file. */
function fieldsOf(desc: DescMessage, path: readonly string[] = []): { path: string[]; field: DescField }[] {
  return desc.fields.flatMap((field) => {
    const at = [...path, field.name];
    const nested = field.fieldKind === "message" && !isValue(field.message) ? field.message : undefined;
    return nested === undefined ? [{ path: at, field }] : fieldsOf(nested, at);
  });
}

const isValue = (desc: DescMessage): boolean =>
  desc.typeName === DurationSchema.typeName || wrappedList(desc) !== undefined;

const SCALAR_ZEROES: ReadonlyMap<ScalarType, unknown> = new Map<ScalarType, unknown>([
  [ScalarType.BOOL, false],
  [ScalarType.STRING, ""],
  [ScalarType.UINT32, 0],
  [ScalarType.UINT64, 0],
  [ScalarType.DOUBLE, 0],
]);

/** What means nothing, none or off, as a file writes it; undefined where an enum has no such value. */
function zeroOf(field: DescField): unknown {
  if (field.fieldKind === "list") return [];
  if (field.message !== undefined) return wrappedList(field.message) === undefined ? "0s" : [];
  if (field.enum !== undefined) return undefined;
  return field.scalar === undefined ? undefined : SCALAR_ZEROES.get(field.scalar);
}

function policyWith(preset: string, path: readonly string[], value: unknown) {
  const override = policyJson(path, value);
  const { config, faults } = decodeConfig(JSON.stringify({ groups: [{ policy: { preset, ...override } }] }));
  expect(faults).toEqual([]);
  return config?.groups[0]?.policy;
}

/** The value at a path, and whether it is set there. */
function read(message: ReflectMessage, path: readonly string[]): { readonly set: boolean; value: unknown } {
  const [name, ...rest] = path;
  const field = message.fields.find((each) => each.name === name);
  if (field === undefined) throw new Error(`no ${name}`);
  const value: unknown = message.get(field);
  if (rest.length > 0 && isReflectMessage(value)) return read(value, rest);
  return { set: message.isSet(field), value };
}

const rows = fieldsOf(PolicySchema)
  .filter(({ field }) => zeroOf(field) !== undefined)
  .map(({ path, field }) => ({ name: path.join("."), path, field }));
const isTold = (field: DescField): boolean => field.presence === FeatureSet_FieldPresence.EXPLICIT;

describe("contracts 2: field presence is explicit in a policy", () => {
  it("goes over every field", () => {
    expect(rows.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["hedge.share", "bench.failures", "retry.on", "request_timeout", "translate"]),
    );
    expect(rows.length).toBeGreaterThan(40);
  });

  it.each(rows)("$name: what is written as nothing is nothing under every preset", ({ path, field }) => {
    for (const preset of PRESETS) {
      const written = policyWith(preset, path, zeroOf(field));
      const merged = reflect(PolicySchema, mergePolicy(written));
      const own = reflect(PolicySchema, written ?? create(PolicySchema));
      if (isTold(field)) {
        expect(read(own, path).set).toBe(true);
        expect(reflectValue(read(merged, path).value)).toEqual(reflectValue(read(own, path).value));
      } else {
        // Nothing and not given are one here, so no preset may say anything else.
        const untouched = reflect(PolicySchema, mergePolicy(policyWith(preset, [], {})));
        expect(read(untouched, path).set).toBe(false);
        expect(read(merged, path).set).toBe(false);
      }
    }
  });

  it.each(rows.filter(({ field }) => isTold(field)))(
    "$name: survives being written again",
    ({ path, field }) => {
      const { config } = decodeConfig(
        JSON.stringify({ groups: [{ policy: policyJson(path, zeroOf(field)) }] }),
      );
      if (config === undefined) throw new Error("unreadable");
      const again = decodeConfig(JSON.stringify(encodeConfig(config))).config?.groups[0]?.policy;
      expect(again).toEqual(config.groups[0]?.policy);
    },
  );

  it("hedge.share 0 hedges nothing, and left out it is the preset's", () => {
    expect(resolvePolicy(policyWith("group_failover", ["hedge"], { enabled: true, share: 0 })).hedge).toEqual(
      {
        share: 0,
      },
    );
    expect(resolvePolicy(policyWith("group_failover", ["hedge"], { enabled: true })).hedge).toEqual({
      share: 0.02,
    });
  });
});

function policyJson(path: readonly string[], value: unknown): object {
  return path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object;
}

function reflectValue(value: unknown): unknown {
  return isReflectMessage(value) ? value.message : value;
}

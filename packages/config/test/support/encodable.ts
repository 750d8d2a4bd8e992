import { create, fromJson, ScalarType } from "@bufbuild/protobuf";
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import type { ReflectMessage } from "@bufbuild/protobuf/reflect";
import { DurationSchema, StructSchema } from "@bufbuild/protobuf/wkt";
import type { Config } from "@switchyard/proto/config/v1/config";
import { ConfigSchema } from "@switchyard/proto/config/v1/config";
import * as fc from "fast-check";

/** Any config message that the documented form can say, whatever the rules think of it. Built from the descriptor. */
export function encodable(): fc.Arbitrary<Config> {
  return fc.noShrink(fc.gen()).map((gen) => {
    const config = create(ConfigSchema);
    fill(reflect(ConfigSchema, config), gen);
    return config;
  });
}

function fill(message: ReflectMessage, gen: fc.GeneratorValue): void {
  for (const member of message.members) {
    if (!gen(fc.boolean)) continue;
    const field = member.kind === "oneof" ? gen(() => fc.constantFrom(...member.fields)) : member;
    if (field.fieldKind === "list") {
      const list = message.get(field);
      for (let count = gen(fc.nat, { max: 2 }); count > 0; count -= 1) list.add(valueOf(field, gen));
    } else {
      message.set(field, valueOf(field, gen));
    }
  }
}

function valueOf(field: DescField, gen: fc.GeneratorValue): unknown {
  const { enum: desc } = field;
  if (desc !== undefined) return gen(() => fc.constantFrom(...desc.values.map(({ number }) => number)));
  if (field.message !== undefined) return messageOf(field.message, gen);
  switch (field.scalar) {
    case ScalarType.BOOL:
      return gen(fc.boolean);
    case ScalarType.STRING:
      return gen(() => fc.string({ unit: "binary", maxLength: 12 }));
    case ScalarType.DOUBLE:
      return gen(() => fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0));
    case ScalarType.UINT64:
      return gen(() => fc.bigInt(0n, 2n ** 64n - 1n));
    default:
      return gen(() => fc.nat());
  }
}

function messageOf(desc: DescMessage, gen: fc.GeneratorValue): ReflectMessage {
  if (desc.typeName === DurationSchema.typeName) {
    const seconds = gen(() => fc.bigInt(0n, 315_576_000_000n));
    return reflect(
      DurationSchema,
      create(DurationSchema, { seconds, nanos: gen(() => fc.nat(999_999_999)) }),
    );
  }
  if (desc.typeName === StructSchema.typeName) {
    const name = fc.string({ maxLength: 5 }).filter((text) => text !== "__proto__");
    const data = gen(() =>
      fc.dictionary(name, fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)), {
        maxKeys: 3,
      }),
    );
    return reflect(StructSchema, fromJson(StructSchema, { ...data }));
  }
  const nested = reflect(desc);
  fill(nested, gen);
  return nested;
}

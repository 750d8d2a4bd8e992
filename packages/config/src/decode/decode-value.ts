import { ScalarType } from "@bufbuild/protobuf";
import type { DescEnum } from "@bufbuild/protobuf";
import { suggestion } from "./nearest.ts";
import { choices, enumNumber } from "./schema-forms.ts";

/** A value as protobuf holds it, or why there is none. */
export type Decoded = { readonly value: unknown } | { readonly wrong: string };

const INTEGER = /^-?\d{1,20}$/;
const MAX_SHOWN = 64;

const RANGES: Partial<Record<ScalarType, readonly [bigint, bigint]>> = {
  [ScalarType.INT32]: [-(2n ** 31n), 2n ** 31n - 1n],
  [ScalarType.UINT32]: [0n, 2n ** 32n - 1n],
  [ScalarType.INT64]: [-(2n ** 63n), 2n ** 63n - 1n],
  [ScalarType.UINT64]: [0n, 2n ** 64n - 1n],
};

/** Reads a scalar as YAML or JSON gave it. */
export function decodeScalar(type: ScalarType, raw: unknown): Decoded {
  switch (type) {
    case ScalarType.STRING:
      return decodeText(raw);
    case ScalarType.BOOL:
      return typeof raw === "boolean" ? { value: raw } : wrongType("true or false", raw);
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      if (typeof raw !== "number") return wrongType("a number", raw);
      return Number.isFinite(raw) ? { value: raw } : { wrong: "must be a finite number" };
    default:
      return decodeInteger(type, raw);
  }
}

function decodeText(raw: unknown): Decoded {
  if (typeof raw === "string") {
    return raw.isWellFormed() ? { value: raw } : { wrong: "must be well-formed Unicode text" };
  }
  if (typeof raw === "object") return wrongType("text", raw);
  return { wrong: `must be text, not ${typeName(raw)}; put it in quotes` };
}

/** 64-bit integers may also be text, as ProtoJSON writes them. */
function decodeInteger(type: ScalarType, raw: unknown): Decoded {
  const range = RANGES[type];
  if (range === undefined) return { wrong: "has a type that configs do not use" };
  if (typeof raw === "string" && INTEGER.test(raw)) return inRange(type, BigInt(raw), range);
  if (typeof raw !== "number") return wrongType("a whole number", raw);
  if (!Number.isInteger(raw)) return { wrong: "must be a whole number" };
  if (!Number.isSafeInteger(raw)) return { wrong: "is too large to be exact; write it in quotes" };
  return inRange(type, BigInt(raw), range);
}

function inRange(type: ScalarType, value: bigint, [low, high]: readonly [bigint, bigint]): Decoded {
  // How wide the type is says nothing of what the field takes, which validation tells.
  if (value < low) return { wrong: low === 0n ? "must not be negative" : "is too small" };
  if (value > high) return { wrong: "is too large" };
  const is64 = type === ScalarType.INT64 || type === ScalarType.UINT64;
  return { value: is64 ? value : Number(value) };
}

/** Reads an enum value: short, in full, or by number as ProtoJSON allows. */
export function decodeEnum(desc: DescEnum, raw: unknown): Decoded {
  const known = choices(desc);
  if (typeof raw === "number" && desc.value[raw] !== undefined) return { value: raw };
  if (typeof raw !== "string") return wrongType(`one of ${known.join(", ")}`, raw);
  const number = enumNumber(desc, raw);
  if (number !== undefined) return { value: number };
  const shown = raw.length > MAX_SHOWN ? "this" : JSON.stringify(raw);
  return { wrong: `${shown} is none of ${known.join(", ")}${suggestion(raw, known)}` };
}

/** Says what was wanted and what kind of thing was found; never the thing itself, which may be a secret. */
export function wrongType(wanted: string, raw: unknown): { readonly wrong: string } {
  return { wrong: `must be ${wanted}, not ${typeName(raw)}` };
}

function typeName(raw: unknown): string {
  if (raw === null || raw === undefined) return "empty";
  if (Array.isArray(raw)) return "a list";
  if (typeof raw === "object") return "a mapping";
  if (typeof raw === "boolean") return "true or false";
  return typeof raw === "number" || typeof raw === "bigint" ? "a number" : "text";
}

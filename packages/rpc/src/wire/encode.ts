import { type DescMessage, type MessageShape, ScalarType, toBinary } from "@bufbuild/protobuf";

/** An encoded message: its bytes, then those of a large field that were not copied. */
export interface Encoded {
  head: Uint8Array;
  tail: Uint8Array | undefined;
  length: number;
}

// Below this a copy is cheaper than another buffer.
const largeField = 4096;
const lengthDelimited = 2;

/**
 * An encoder that leaves a large bytes field in place: a last field such as `InferRequest.body`, or the member of a
 * message's only oneof such as `InferResponse.chunk`.
 */
export function createEncoder<D extends DescMessage>(schema: D): (message: MessageShape<D>) => Encoded {
  const last = trailingBytes(schema);
  const member = onlyOneof(schema);
  return (message) => {
    const fields = message as unknown as Record<string, unknown>;
    if (message.$unknown === undefined) {
      if (member !== undefined) {
        const chosen = fields[member.name] as { case?: string; value?: unknown };
        const number = chosen.case === undefined ? undefined : member.numbers.get(chosen.case);
        if (number !== undefined) return encodeBytes(new Uint8Array(), number, chosen.value as Uint8Array);
      } else if (last !== undefined) {
        const value = fields[last.name];
        if (value instanceof Uint8Array && value.length >= largeField) {
          const rest = { ...message, [last.name]: new Uint8Array() } as MessageShape<D>;
          return encodeBytes(toBinary(schema, rest), last.number, value);
        }
      }
    }
    const head = toBinary(schema, message);
    return { head, tail: undefined, length: head.length };
  };
}

function encodeBytes(before: Uint8Array, number: number, value: Uint8Array): Encoded {
  const small = value.length < largeField;
  const prefix = varintSize((number << 3) | lengthDelimited) + varintSize(value.length);
  const head = Buffer.allocUnsafe(before.length + prefix + (small ? value.length : 0));
  head.set(before, 0);
  let at = writeVarint(head, before.length, (number << 3) | lengthDelimited);
  at = writeVarint(head, at, value.length);
  if (small) head.set(value, at);
  return { head, tail: small ? undefined : value, length: head.length + (small ? 0 : value.length) };
}

function trailingBytes(schema: DescMessage): { name: string; number: number } | undefined {
  let last = schema.fields[0];
  for (const field of schema.fields) if (last !== undefined && field.number > last.number) last = field;
  if (last?.fieldKind !== "scalar" || last.scalar !== ScalarType.BYTES || last.oneof !== undefined)
    return undefined;
  return { name: last.localName, number: last.number };
}

function onlyOneof(schema: DescMessage): { name: string; numbers: Map<string, number> } | undefined {
  const [oneof] = schema.oneofs;
  if (oneof === undefined || schema.fields.some((field) => field.oneof !== oneof)) return undefined;
  const numbers = new Map<string, number>();
  for (const field of oneof.fields) {
    if (field.scalar === ScalarType.BYTES) numbers.set(field.localName, field.number);
  }
  return numbers.size === 0 ? undefined : { name: oneof.localName, numbers };
}

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) size += 1;
  return size;
}

function writeVarint(into: Uint8Array, start: number, value: number): number {
  let at = start;
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) into[at++] = (rest & 0x7f) | 0x80;
  into[at++] = rest;
  return at;
}

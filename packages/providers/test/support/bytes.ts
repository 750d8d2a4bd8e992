import * as fc from "fast-check";

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
export const textOf = (bytes: Uint8Array): string =>
  new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

/** The pieces put together again. */
export function concat(pieces: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(pieces.flatMap((piece) => [...piece]));
}

/** The bytes in pieces, cut at these places; each piece is an array of its own, as from a socket. */
export function cutAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const borders = [
    0,
    ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b),
    bytes.length,
  ];
  return borders.slice(1).map((end, index) => Uint8Array.from(bytes.subarray(borders[index], end)));
}

/** Places to cut at: few, or many near each other. */
export const cuts: fc.Arbitrary<number[]> = fc.array(fc.nat(100_000), { maxLength: 30 });

const TABLE: Uint32Array = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = (value & 1) === 0 ? value >>> 1 : (value >>> 1) ^ 0xedb88320;
  return value;
});

/** The CRC-32 of a range, as zip and the event stream encoding have it. */
export function crc32(bytes: Uint8Array, start: number, end: number): number {
  let value = 0xffffffff;
  for (let place = start; place < end; place++) {
    value = (value >>> 8) ^ (TABLE[(value ^ (bytes[place] as number)) & 0xff] as number);
  }
  return ~value >>> 0;
}

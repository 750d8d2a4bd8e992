const maxExtension = 1024;
const maxTrailer = 16_384;
const maxSizeDigits = 8;

const cr = 13;
const lf = 10;
const tab = 9;
const colon = 58;
const semicolon = 59;

const size = 0;
const extension = 1;
const sizeEnd = 2;
const data = 3;
const dataCr = 4;
const dataLf = 5;
const trailerStart = 6;
const trailerName = 7;
const trailerLine = 8;
const trailerLf = 9;
const lastLf = 10;
const done = 11;

const nameBytes = new Uint8Array(256);
for (const byte of Buffer.from(
  "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
)) {
  nameBytes[byte] = 1;
}

/** Takes the chunked transfer coding off a body that comes in pieces. Trailers are dropped. */
export class ChunkedDecoder {
  /** The data that `take` found: where in the bytes it begins and ends. */
  from = 0;
  to = 0;
  #state = size;
  #left = 0;
  #digits = 0;
  /** Bytes of the extension or of the trailers so far. */
  #extra = 0;

  get done(): boolean {
    return this.#state === done;
  }

  /** Reads from `offset` and says how far it got: past the end of the body or of the bytes. -1: malformed. */
  push(bytes: Buffer, offset: number, emit: (piece: Buffer) => void): number {
    let at = offset;
    while (at < bytes.length && this.#state !== done) {
      if (this.#state === data) {
        const end = this.#run(at, bytes.length);
        emit(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
        at = end;
      } else {
        at = this.#frame(bytes, at, bytes.length);
        if (at < 0) return -1;
      }
    }
    return at;
  }

  /**
   * As `push` of the bytes up to `limit`, but moves all their data together within them, `from` to `to`: a read with
   * many chunks is handed on as one. When malformed, that is what came before.
   */
  take(bytes: Buffer, offset: number, limit: number): number {
    let at = offset;
    this.from = this.to = offset;
    while (at < limit && this.#state !== done) {
      if (this.#state === data) {
        const end = this.#run(at, limit);
        if (this.from === this.to) {
          this.from = at;
          this.to = end;
        } else {
          bytes.copyWithin(this.to, at, end);
          this.to += end - at;
        }
        at = end;
      } else {
        at = this.#frame(bytes, at, limit);
        if (at < 0) return -1;
      }
    }
    return at;
  }

  #run(at: number, limit: number): number {
    const end = Math.min(limit, at + this.#left);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = dataCr;
    return end;
  }

  /** Reads what is not data: up to the next data, the end of the bytes, or the end of the body. */
  #frame(bytes: Buffer, start: number, limit: number): number {
    let at = start;
    while (at < limit && this.#state !== data && this.#state !== done) {
      if (!this.#accept(bytes[at] as number)) return -1;
      at += 1;
    }
    return at;
  }

  #accept(byte: number): boolean {
    switch (this.#state) {
      case size:
        return this.#acceptSize(byte);
      case extension:
        if (byte === cr) {
          this.#state = sizeEnd;
          return true;
        }
        return isText(byte) && this.#within(maxExtension);
      case sizeEnd:
        this.#state = this.#left === 0 ? trailerStart : data;
        this.#digits = 0;
        this.#extra = 0;
        return byte === lf;
      case dataCr:
        this.#state = dataLf;
        return byte === cr;
      case dataLf:
        this.#state = size;
        return byte === lf;
      case trailerStart:
        this.#state = byte === cr ? lastLf : trailerName;
        return byte === cr || (isName(byte) && this.#within(maxTrailer));
      case trailerName:
        if (byte === colon) this.#state = trailerLine;
        return (byte === colon || isName(byte)) && this.#within(maxTrailer);
      case trailerLine:
        if (byte === cr) {
          this.#state = trailerLf;
          return true;
        }
        return isText(byte) && this.#within(maxTrailer);
      case trailerLf:
        this.#state = trailerStart;
        return byte === lf;
      default:
        this.#state = done;
        return byte === lf;
    }
  }

  #acceptSize(byte: number): boolean {
    const digit = hexValue(byte);
    if (digit >= 0) {
      this.#digits += 1;
      this.#left = this.#left * 16 + digit;
      return this.#digits <= maxSizeDigits;
    }
    this.#state = byte === cr ? sizeEnd : extension;
    return this.#digits > 0 && (byte === cr || byte === semicolon);
  }

  #within(max: number): boolean {
    this.#extra += 1;
    return this.#extra <= max;
  }
}

/** What ends a chunked body. */
export const lastChunk = "0\r\n\r\n";

function hexValue(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

/** No control but a tab. */
function isText(byte: number): boolean {
  return (byte >= 32 && byte !== 127) || byte === tab;
}

function isName(byte: number): boolean {
  return nameBytes[byte] === 1;
}

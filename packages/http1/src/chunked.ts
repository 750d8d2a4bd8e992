const maxLine = 1024;
const cr = 13;
const lf = 10;

/** Takes the chunked transfer coding off a response body that comes in pieces. Trailers are dropped. */
export class ChunkedDecoder {
  #state: "size" | "data" | "data-end" | "trailer" | "done" = "size";
  #left = 0;
  #line = "";

  get done(): boolean {
    return this.#state === "done";
  }

  /** Reads from `offset` and says how far it got: past the end of the body or of the bytes. -1: malformed. */
  push(bytes: Buffer, offset: number, emit: (data: Buffer) => void): number {
    let at = offset;
    while (at < bytes.length && this.#state !== "done") {
      if (this.#state === "data") {
        const end = Math.min(bytes.length, at + this.#left);
        this.#left -= end - at;
        if (this.#left === 0) this.#state = "data-end";
        emit(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
        at = end;
        continue;
      }
      at = this.#readLine(bytes, at);
      if (at < 0) return -1;
    }
    return at;
  }

  #readLine(bytes: Buffer, start: number): number {
    const end = bytes.indexOf(lf, start);
    const stop = end < 0 ? bytes.length : end;
    if (this.#line.length + stop - start > maxLine) return -1;
    const piece = bytes.toString("latin1", start, stop);
    if (end < 0) {
      this.#line += piece;
      return stop;
    }
    const line = this.#line === "" ? piece : this.#line + piece;
    this.#line = "";
    if (line.charCodeAt(line.length - 1) !== cr) return -1;
    return this.#takeLine(line.slice(0, -1)) ? end + 1 : -1;
  }

  #takeLine(line: string): boolean {
    switch (this.#state) {
      case "size": {
        const match = /^([0-9a-fA-F]{1,8})(?:[ \t]*;.*)?$/.exec(line);
        if (match === null) return false;
        this.#left = Number.parseInt(match[1] as string, 16);
        this.#state = this.#left === 0 ? "trailer" : "data";
        return true;
      }
      case "data-end":
        this.#state = "size";
        return line === "";
      case "trailer":
        if (line === "") this.#state = "done";
        return true;
      default:
        return false;
    }
  }
}

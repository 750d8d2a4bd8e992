import type { Transform } from "node:stream";
import { type ContentCoding, openDecoder } from "@switchyard/http1";
import { codeOf } from "./errors.ts";

/** Receives what a decoder makes of its input. */
export interface DecoderSink {
  onDecoded(chunk: Uint8Array): void;
  onDecodedEnd(): void;
  onDecodeError(code: string | undefined): void;
  /** The decoder takes input again after `write` returned false. */
  onWritable(): void;
}

/**
 * Undoes content codings as the bytes come: what the provider flushed comes out when it was flushed (BH-38), and a
 * paused reader stops the input by `write` returning false. An input without a byte is an empty body in any coding.
 */
export class BodyDecoder {
  readonly #coding: ContentCoding;
  readonly #sink: DecoderSink;
  readonly #inner: BodyDecoder | null;
  #stream: Transform | null = null;
  #paused = false;
  #blocked = false;
  #choked = false;
  #inputEnded = false;
  #outputEnded = false;
  #done = false;

  /** `codings` holds at least one, outermost first. */
  constructor(codings: readonly ContentCoding[], sink: DecoderSink) {
    this.#coding = codings[0] as ContentCoding;
    this.#sink = sink;
    this.#inner = codings.length > 1 ? new BodyDecoder(codings.slice(1), this.#between()) : null;
  }

  /** Takes a chunk; false asks the caller to wait for `onWritable`. */
  write(chunk: Uint8Array): boolean {
    if (this.#done || this.#outputEnded || chunk.length === 0) {
      return true;
    }
    this.#stream ??= this.#open(chunk[0] as number);
    this.#choked = !this.#stream.write(chunk);
    return !this.#choked;
  }

  /** The input is complete; `onDecodedEnd` or `onDecodeError` follows. */
  end(): void {
    this.#inputEnded = true;
    if (this.#stream === null || this.#outputEnded) {
      this.#finish();
    } else {
      this.#stream.end();
    }
  }

  pause(): void {
    if (this.#inner !== null) {
      this.#inner.pause();
      return;
    }
    this.#paused = true;
    this.#stream?.pause();
  }

  resume(): void {
    if (this.#inner !== null) {
      this.#inner.resume();
      return;
    }
    this.#paused = false;
    this.#stream?.resume();
  }

  /** Frees the decoder; nothing is reported any more. */
  destroy(): void {
    this.#done = true;
    this.#stream?.destroy();
    this.#inner?.destroy();
  }

  #open(firstByte: number): Transform {
    const stream = openDecoder(this.#coding, firstByte, { flushes: true });
    stream.on("data", (chunk: Uint8Array) => this.#onOutput(chunk));
    stream.on("drain", () => this.#unchoke());
    stream.on("end", () => {
      this.#outputEnded = true;
      if (this.#inputEnded) {
        this.#finish();
      } else {
        // Bytes after the coding's own end mark are dropped, but the body is over only when the provider says so.
        this.#unchoke();
      }
    });
    stream.on("error", (error) => {
      if (!this.#done) {
        this.destroy();
        this.#sink.onDecodeError(codeOf(error));
      }
    });
    if (this.#paused) {
      stream.pause();
    }
    return stream;
  }

  #onOutput(chunk: Uint8Array): void {
    if (this.#done) {
      return;
    }
    if (this.#inner === null) {
      this.#sink.onDecoded(chunk);
    } else if (!this.#inner.write(chunk)) {
      this.#blocked = true;
      this.#stream?.pause();
    }
  }

  #unchoke(): void {
    if (this.#choked && !this.#done) {
      this.#choked = false;
      this.#sink.onWritable();
    }
  }

  #finish(): void {
    if (this.#done) {
      return;
    }
    this.#done = true;
    if (this.#inner === null) {
      this.#sink.onDecodedEnd();
    } else {
      this.#inner.end();
    }
  }

  #between(): DecoderSink {
    return {
      onDecoded: (chunk) => this.#sink.onDecoded(chunk),
      onDecodedEnd: () => this.#sink.onDecodedEnd(),
      onDecodeError: (code) => {
        this.destroy();
        this.#sink.onDecodeError(code);
      },
      onWritable: () => {
        if (this.#blocked) {
          this.#blocked = false;
          this.#stream?.resume();
        }
      },
    };
  }
}

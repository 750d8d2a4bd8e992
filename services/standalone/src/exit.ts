/** Exit statuses of the command. */
export const EXIT = {
  ok: 0,
  /** A bad config, an occupied port, no usable config, a refused change. */
  failed: 1,
  /** The command line says nothing that can be done. */
  usage: 2,
  /** A fault of the program itself (EX_SOFTWARE). */
  software: 70,
} as const;

/** Ends the command with `message` on stderr, its lines first and clear, and exit status `status`. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly status: number;
  /** Further lines, one fault each. */
  readonly lines: readonly string[];

  constructor(
    message: string,
    options: { status?: number; lines?: readonly string[]; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status ?? EXIT.failed;
    this.lines = options.lines ?? [];
  }
}

/** The clocks of one attempt: until a stream's first token, over whatever else it is waiting for, and beside a stream that may fall silent. */
export class AttemptClocks {
  readonly #onFault: (error: unknown) => void;
  #firstToken: NodeJS.Timeout | undefined;
  #bound: NodeJS.Timeout | undefined;
  #pulse: NodeJS.Timeout | undefined;

  /** `onFault`: what a clock's work threw; nobody above a timer could hear of it. */
  constructor(onFault: (error: unknown) => void) {
    this.#onFault = onFault;
  }

  startFirstToken(ms: number, run: () => void): void {
    this.#firstToken = this.#after(ms, run);
  }

  /** One at a time: a new bound replaces the last. */
  startBound(ms: number, run: () => void): void {
    clearTimeout(this.#bound);
    this.#bound = this.#after(ms, run);
  }

  /** Runs again and again: one timer for a whole stream, however many chunks it has. */
  startPulse(ms: number, run: () => void): void {
    this.#pulse = setInterval(this.#guarded(run), ms);
  }

  stopFirstToken(): void {
    clearTimeout(this.#firstToken);
  }

  stopBound(): void {
    clearTimeout(this.#bound);
  }

  stop(): void {
    this.stopFirstToken();
    this.stopBound();
    clearInterval(this.#pulse);
  }

  #after(ms: number, run: () => void): NodeJS.Timeout {
    return setTimeout(this.#guarded(run), ms);
  }

  #guarded(run: () => void): () => void {
    return () => {
      try {
        run();
      } catch (error) {
        this.#onFault(error);
      }
    };
  }
}

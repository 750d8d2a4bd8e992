/** What a handler knows of one call, and how it learns that the caller left. */
export interface Call {
  /** A metadata field by its name in lower case. */
  header(name: string): string | undefined;
  /** Visits the application's metadata; the protocol's own fields are left out. */
  eachHeader(visit: (name: string, value: string) => void): void;
  /** When the caller stops waiting, epoch ms. Between processes both ends enforce it; within one the handler does. */
  readonly deadline: number | undefined;
  readonly cancelled: boolean;
  /** Calls once when the caller leaves; at once when it already left. */
  onCancel(listener: () => void): void;
  /** Forgets a listener: for work that ends before its call does. */
  offCancel(listener: () => void): void;
  /** Made on first use, because a signal costs more than most calls. */
  readonly signal: AbortSignal;
}

/** The leaving of a caller, which is the same for all kinds of calls. */
export abstract class Cancellable implements Call {
  abstract readonly deadline: number | undefined;
  #cancelled = false;
  #listeners: (() => void)[] | undefined;
  #controller: AbortController | undefined;

  abstract header(name: string): string | undefined;
  abstract eachHeader(visit: (name: string, value: string) => void): void;

  get cancelled(): boolean {
    return this.#cancelled;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#cancelled) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  onCancel(listener: () => void): void {
    if (this.#cancelled) listener();
    else if (this.#listeners === undefined) this.#listeners = [listener];
    else this.#listeners.push(listener);
  }

  offCancel(listener: () => void): void {
    const at = this.#listeners?.indexOf(listener) ?? -1;
    if (at >= 0) this.#listeners?.splice(at, 1);
  }

  /** Says that the caller left. Again is harmless. */
  cancel(): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    const listeners = this.#listeners;
    this.#listeners = undefined;
    this.#controller?.abort();
    if (listeners !== undefined) for (const listener of listeners) listener();
  }
}

export interface CallOptions {
  /** Names in lower case. */
  headers?: Readonly<Record<string, string>> | ReadonlyMap<string, string> | undefined;
  /** Epoch ms; a parent's earlier deadline wins. */
  deadline?: number | undefined;
  /** The call on whose behalf this one is made: its leaving and its deadline apply here; its headers do not. */
  parent?: Call | undefined;
}

/** A call as its caller makes it. Whoever has a parent calls `release` when the work is over before the parent is. */
export class CallContext extends Cancellable {
  readonly deadline: number | undefined;
  readonly #headers: CallOptions["headers"];
  readonly #parent: Call | undefined;
  readonly #follow: (() => void) | undefined;

  constructor(options: CallOptions = {}) {
    super();
    const { headers, deadline, parent } = options;
    this.#headers = headers;
    const bound = parent?.deadline;
    this.deadline = deadline === undefined || (bound !== undefined && bound < deadline) ? bound : deadline;
    this.#parent = parent;
    if (parent !== undefined) {
      this.#follow = () => this.cancel();
      parent.onCancel(this.#follow);
    }
  }

  header(name: string): string | undefined {
    const headers = this.#headers;
    if (headers === undefined) return undefined;
    if (headers instanceof Map) return (headers as ReadonlyMap<string, string>).get(name);
    return Object.hasOwn(headers, name) ? (headers as Readonly<Record<string, string>>)[name] : undefined;
  }

  eachHeader(visit: (name: string, value: string) => void): void {
    const headers = this.#headers;
    if (headers === undefined) return;
    if (headers instanceof Map) {
      for (const [name, value] of headers as ReadonlyMap<string, string>) visit(name, value);
      return;
    }
    const record = headers as Readonly<Record<string, string>>;
    for (const name of Object.keys(record)) visit(name, record[name] ?? "");
  }

  override cancel(): void {
    this.release();
    super.cancel();
  }

  /** Stops following the parent. */
  release(): void {
    if (this.#follow !== undefined) this.#parent?.offCancel(this.#follow);
  }
}

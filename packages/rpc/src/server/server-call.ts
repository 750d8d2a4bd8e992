import { Code, ConnectError } from "@connectrpc/connect";
import { Cancellable } from "../call.ts";
import { isProtocolField, parseTimeout } from "../wire/metadata.ts";

/** Where the header fields of a request come from. */
export interface HeaderSource {
  get(name: string): string | undefined;
  each(visit: (name: string, value: string) => void): void;
}

/** A call that came over the wire by the Connect protocol. */
export class ServerCall extends Cancellable {
  readonly deadline: number | undefined;
  readonly #headers: HeaderSource;

  /** Throws for a malformed timeout. */
  constructor(headers: HeaderSource) {
    super();
    this.#headers = headers;
    const timeout = parseTimeout(headers.get("connect-timeout-ms"));
    if (timeout === "bad") throw new ConnectError("malformed connect-timeout-ms", Code.InvalidArgument);
    this.deadline = timeout === undefined ? undefined : Date.now() + timeout;
  }

  header(name: string): string | undefined {
    return this.#headers.get(name);
  }

  eachHeader(visit: (name: string, value: string) => void): void {
    this.#headers.each((name, value) => {
      if (!isProtocolField(name)) visit(name, value);
    });
  }
}

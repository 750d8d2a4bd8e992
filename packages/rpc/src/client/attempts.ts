import { Code, ConnectError } from "@connectrpc/connect";
import type { Part, ResponseHead } from "@switchyard/http1";
import type { Call } from "../call.ts";
import type { ClientConnection, Loss } from "../http1/client-connection.ts";
import type { Encoded } from "../wire/encode.ts";
import { atDeadline, headerLine, isProtocolField } from "../wire/metadata.ts";
import { type Channel, unavailable } from "./channel.ts";
import type { PooledExchange } from "./pool.ts";

/** What is the same for all calls of a method. */
export interface CallKind {
  channel: Channel;
  /** Start of the request per server, up to the fields that differ from call to call. */
  prefixes: readonly string[];
  /** A call that was sent and not answered may be sent again. */
  resendable: boolean;
  /** Shares connections with others. */
  shared: boolean;
  maxMessageBytes: number;
}

/**
 * One call from its first attempt to its end. A server that cannot be reached costs the call nothing but the time:
 * the next one is tried at once, each once, and whatever was lost unanswered is sent again where that is harmless.
 */
export abstract class Attempts implements PooledExchange {
  connection: ClientConnection | undefined;
  protected readonly kind: CallKind;
  protected readonly call: Call;
  readonly #body: readonly Part[];
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #fields: string;
  #server = -1;
  #tried = 0;
  #resent = 0;
  #over = false;
  readonly #onCancel = (): void => this.#abandon(new ConnectError("the caller left", Code.Canceled), false);

  constructor(kind: CallKind, call: Call, envelope: Uint8Array | undefined, message: Encoded) {
    this.kind = kind;
    this.call = call;
    const length = message.length + (envelope?.length ?? 0);
    let fields = `content-length: ${length}\r\n`;
    if (call.deadline !== undefined) {
      const left = Math.min(9_999_999_999, Math.max(0, Math.ceil(call.deadline - Date.now())));
      fields += `connect-timeout-ms: ${left}\r\n`;
    }
    call.eachHeader((name, value) => {
      if (!isProtocolField(name)) fields += headerLine(name, value);
    });
    this.#fields = `${fields}\r\n`;
    const body: Part[] = envelope === undefined ? [message.head] : [envelope, message.head];
    if (message.tail !== undefined) body.push(message.tail);
    this.#body = body;
    this.#timer = atDeadline(call.deadline, () => {
      this.#abandon(new ConnectError("the deadline passed", Code.DeadlineExceeded), true);
    });
  }

  start(): void {
    this.call.onCancel(this.#onCancel);
    if (!this.#over) this.#next("no server is reachable");
  }

  onHead(head: ResponseHead): void {
    this.kind.channel.reached(this.#server);
    this.onAnswer(head);
  }

  onLost(loss: Loss, why: string): void {
    this.connection = undefined;
    const { channel, resendable } = this.kind;
    if (loss === "unreached") {
      this.#tried |= 1 << this.#server;
      channel.unreachable(this.#server);
      return this.#next(`no server is reachable: ${why}`);
    }
    channel.unknown(this.#server);
    // A server that dies takes its connections with it, so the same one may be picked again; the number is bounded.
    const again = loss === "unsent" || (loss === "silent" && resendable);
    if (again && this.#resent < this.kind.prefixes.length) {
      this.#resent += 1;
      return this.#next(why);
    }
    this.fail(unavailable(`the connection was lost: ${why}`));
  }

  abstract onData(bytes: Buffer): void;
  abstract onEnd(): void;
  protected abstract onAnswer(head: ResponseHead): void;
  protected abstract onFailure(error: ConnectError): void;

  protected get over(): boolean {
    return this.#over;
  }

  /** Ends the call while its answer is still coming: nothing more is wanted of the connection. */
  protected breakOff(error: ConnectError): void {
    this.#abandon(error, true);
  }

  protected fail(error: ConnectError): void {
    if (this.finish()) this.onFailure(error);
  }

  /** True: it was not over yet. */
  protected finish(): boolean {
    if (this.#over) return false;
    this.#over = true;
    clearTimeout(this.#timer);
    this.call.offCancel(this.#onCancel);
    return true;
  }

  #abandon(error: ConnectError, stuck: boolean): void {
    if (this.#over) return;
    if (this.#server >= 0) this.kind.channel.abort(this.#server, this, stuck);
    this.fail(error);
  }

  #next(why: string): void {
    const { channel, prefixes, shared } = this.kind;
    const server = this.#over ? undefined : channel.pick(this.#tried);
    if (server === undefined) return this.fail(unavailable(why));
    this.#server = server;
    const parts: Part[] = [(prefixes[server] as string) + this.#fields, ...this.#body];
    if (channel.dispatch(server, this, parts, shared)) return;
    channel.unknown(server);
    this.#tried |= 1 << server;
    this.#next("no server takes another call");
  }
}

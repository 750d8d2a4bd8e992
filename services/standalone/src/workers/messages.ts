import type { Readiness } from "@switchyard/telemetry";
import type { BoundAddresses } from "../node/addresses.ts";

/** What a worker tells the primary. */
export type FromWorker =
  | { readonly kind: "ready"; readonly addresses: BoundAddresses }
  | {
      readonly kind: "failed";
      readonly message: string;
      readonly lines: readonly string[];
      readonly status: number;
    }
  | { readonly kind: "readiness"; readonly readiness: Readiness }
  | { readonly kind: "metrics"; readonly id: number; readonly text: string }
  | BusMessage;

/** What the primary tells a worker. */
export type FromPrimary =
  | { readonly kind: "drain" }
  | { readonly kind: "metrics?"; readonly id: number }
  | BusMessage;

/** An event that one worker published, on its way to the others. */
export interface BusMessage {
  readonly kind: "bus";
  readonly subject: string;
  readonly payload: Uint8Array;
}

/** Sends to the primary; a primary that is gone ends this process by itself. */
export function tellPrimary(message: FromWorker): void {
  if (process.connected) process.send?.(message, undefined, {}, () => {});
}

/** Calls for each message of the primary. */
export function onPrimary(listener: (message: FromPrimary) => void): void {
  process.on("message", (message) => {
    if (typeof message === "object" && message !== null && "kind" in message)
      listener(message as FromPrimary);
  });
}

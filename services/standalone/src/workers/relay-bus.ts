import type { Bus } from "@switchyard/bus";
import { onPrimary, tellPrimary } from "./messages.ts";

/**
 * The embedded bus of one worker among several: what it publishes reaches the others through the primary, so that a
 * bench seen by one is honoured by all. Buckets are each worker's own.
 */
export function relayBus(inner: Bus): Bus {
  onPrimary((message) => {
    if (message.kind === "bus") inner.publish(message.subject, message.payload);
  });
  return {
    get state() {
      return inner.state;
    },
    publish: (subject, payload) => {
      inner.publish(subject, payload);
      tellPrimary({ kind: "bus", subject, payload });
    },
    subscribe: (subject, listener) => inner.subscribe(subject, listener),
    onState: (listener) => inner.onState(listener),
    keyValue: (bucket, options) => inner.keyValue(bucket, options),
    counters: () => inner.counters(),
    close: () => inner.close(),
  };
}

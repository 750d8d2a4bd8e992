export type {
  Bus,
  BusCounters,
  BusState,
  EventBus,
  KeyValue,
  KeyValueEntry,
  KeyValueListener,
  KeyValueOptions,
  Subscription,
} from "./bus.ts";
export { createMemoryBus, type MemoryBusOptions } from "./memory/memory-bus.ts";
export { connectNatsBus } from "./nats/nats-bus.ts";
export type { NatsAuth, NatsOptions, NatsTls } from "./nats/nats-options.ts";

export {
  type Bus,
  type BusCounters,
  type BusState,
  BusUnavailableError,
  type EventBus,
  type KeyValue,
  type KeyValueEntry,
  type KeyValueListener,
  type KeyValueOptions,
  type Subscription,
} from "./bus.ts";
export { createMemoryBus, type MemoryBusOptions } from "./memory/memory-bus.ts";
export { connectNatsBus } from "./nats/nats-bus.ts";
export type { NatsAuth, NatsOptions, NatsTls } from "./nats/nats-options.ts";

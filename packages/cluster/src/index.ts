export { benchFromEvent, benchFromStore, benchToWire } from "./benches.ts";
export { ConfigConflictError, FeedState } from "./config-feed.ts";
export type { AppliedConfig, ConfigFeed, WritableConfigFeed } from "./config-feed.ts";
export { errorClassFromWire, errorClassToWire } from "./error-classes.ts";
export { outcomeFromWire, outcomeToWire } from "./outcomes.ts";
export { createStoreFeed } from "./store-feed.ts";
export type { StoreFeedOptions } from "./store-feed.ts";
export { BUCKETS, SUBJECTS } from "./subjects.ts";

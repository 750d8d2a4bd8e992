export type { DecisionLog } from "./decision-recorder.ts";
export { createRouter } from "./router.ts";
export type { Router, RouterDeps } from "./router.ts";

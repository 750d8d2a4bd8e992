export { createHealth } from "./health.ts";
export type { Health, HealthDeps } from "./health.ts";

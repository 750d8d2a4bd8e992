export { createFacade, type Facade, type FacadeOptions, type ListenOptions } from "./facade.ts";
export type { ServerLimits } from "./limits.ts";

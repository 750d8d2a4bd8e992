import { startInProcess } from "./gateway-one-process.ts";
import { startProcesses } from "./gateway-processes.ts";
import type { Gateway, GatewayOptions } from "./gateway-form.ts";

export { FORMS } from "./gateway-form.ts";
export type { Form, Gateway, GatewayOptions } from "./gateway-form.ts";

/** Starts a gateway on free loopback ports; resolves when every process serves. */
export function startGateway(options: GatewayOptions): Promise<Gateway> {
  return options.form === "one-process" ? startInProcess(options) : startProcesses(options);
}

import { startInProcess } from "./gateway-one-process.ts";
import { startProcesses } from "./gateway-processes.ts";
import type { Form, Gateway, GatewayOptions } from "./gateway-form.ts";

export { FORMS } from "./gateway-form.ts";
export type { Form, Gateway, GatewayOptions, ServiceName } from "./gateway-form.ts";

/** Starts a gateway on free loopback ports; resolves when every process serves. */
export function startGateway(options: GatewayOptions): Promise<Gateway> {
  return options.form === "one-process" ? startInProcess(options) : startProcesses(options);
}

/** Runs with a gateway of that form and stops it, whatever happens. */
export async function withGateway<T>(
  form: Form,
  options: Omit<GatewayOptions, "form">,
  run: (gateway: Gateway) => Promise<T>,
): Promise<T> {
  await using gateway = await startGateway({ ...options, form });
  return await run(gateway);
}

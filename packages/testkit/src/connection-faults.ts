import { type Answer, RESET } from "./answers.ts";
import type { RecordedCall } from "./recorded-call.ts";
import type { Reply } from "./scripted-provider.ts";

/** BH-40 X, for `provider.onHeaders`: resets every second and later request of a connection at its head. */
export function resetReused(call: RecordedCall): Answer | undefined {
  return call.requestOnConnection > 1 ? RESET : undefined;
}

/** BH-40 Y, for `provider.answer`: reads the first request of a connection whole, then resets. */
export function resetFirst(otherwise: Answer): Reply {
  return (call) => (call.requestOnConnection === 1 ? RESET : otherwise);
}

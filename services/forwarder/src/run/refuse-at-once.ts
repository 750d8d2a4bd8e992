import { create } from "@bufbuild/protobuf";
import type { InferResponse } from "@switchyard/proto/inference/v1/inference_service";
import { ListGroupsRequestSchema } from "@switchyard/proto/routing/v1/routing_service";
import type { RoutingService } from "@switchyard/proto/routing/v1/routing_service";
import { readFailure, toConnectError } from "@switchyard/rpc";
import type { Call, ServiceImpl, Sink } from "@switchyard/rpc";
import { settle } from "../settle.ts";

/** Routers answer from memory: one that takes this long hangs. */
const ASK_MS = 10_000;

/**
 * Refuses a request that can't be read. R1: the key comes first, so a caller whose key is not known hears of that and
 * of nothing else; that is the router's to say. `onRefused` is told what the caller hears.
 */
export function refuseAtOnce(
  router: ServiceImpl<typeof RoutingService>,
  fault: unknown,
  sink: Sink<InferResponse>,
  call: Call,
  onRefused: (error: unknown) => void,
): void {
  let forget: (() => void) | undefined;
  const onCancel = (): void => forget?.();
  const refuse = (error: unknown): void => {
    call.offCancel(onCancel);
    onRefused(error);
    sink.fail(toConnectError(error));
  };
  call.onCancel(onCancel);
  forget = settle(
    () => router.listGroups(create(ListGroupsRequestSchema), call),
    () => refuse(fault),
    (error) => refuse(isUnknownKey(error) ? error : fault),
    ASK_MS,
  );
}

function isUnknownKey(error: unknown): boolean {
  return readFailure(error).code === "invalid_api_key";
}

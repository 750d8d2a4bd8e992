import type { GroupSummary, RoutingService } from "@switchyard/proto/routing/v1/routing_service";
import { ListGroupsRequestSchema } from "@switchyard/proto/routing/v1/routing_service";
import { create } from "@bufbuild/protobuf";
import type { InferRequest, InferResponse } from "@switchyard/proto/inference/v1/inference_service";
import { failure, toConnectError } from "@switchyard/rpc";
import type { Call, ServiceImpl, Sink } from "@switchyard/rpc";
import { ANTHROPIC_MODELS, OPENAI_MODELS } from "./model-shapes.ts";
import { chunkPart, headPart, trailerPart } from "./parts.ts";
import { settle } from "../settle.ts";

const LIST = "/v1/models";
const ONE = "/v1/models/";
/** Clients of Anthropic's API say which version of it they speak. */
const VERSION = "anthropic-version";
/** Routers answer from memory: one that takes this long hangs. */
const LIST_MS = 10_000;

/** Whether the path is the list of models or one of them. */
export function isModelsPath(path: string): boolean {
  return path === LIST || path.startsWith(ONE);
}

/** Answers with the groups that the caller's key may call, in the shape of Anthropic's API for its clients, else of OpenAI's. */
export function serveModels(
  router: ServiceImpl<typeof RoutingService>,
  request: InferRequest,
  sink: Sink<InferResponse>,
  call: Call,
): void {
  let forget: (() => void) | undefined;
  const onCancel = (): void => forget?.();
  const fail = (error: unknown): void => {
    call.offCancel(onCancel);
    sink.fail(toConnectError(error));
  };
  call.onCancel(onCancel);
  forget = settle(
    () => router.listGroups(create(ListGroupsRequestSchema), call),
    ({ groups }) => {
      const shape = request.headers.some(({ name }) => name === VERSION) ? ANTHROPIC_MODELS : OPENAI_MODELS;
      const { path, query } = request;
      const body = path === LIST ? shape.list(groups, query) : shape.one(find(groups, nameIn(path)));
      call.offCancel(onCancel);
      sink.send(headPart(200, ["content-type", "application/json"]));
      sink.send(chunkPart(new TextEncoder().encode(JSON.stringify(body))));
      sink.send(trailerPart());
      sink.end();
    },
    fail,
    LIST_MS,
  );
}

function find(groups: readonly GroupSummary[], name: string): GroupSummary {
  const group = groups.find((candidate) => candidate.name === name);
  if (group !== undefined) return group;
  throw failure("not_found", `the model '${name}' does not exist or this key may not call it`, {
    status: 404,
  });
}

function nameIn(path: string): string {
  const raw = path.slice(ONE.length);
  try {
    return decodeURIComponent(raw);
  } catch {
    return raw;
  }
}

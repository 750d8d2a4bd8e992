import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  createConnectRouter,
} from "@connectrpc/connect";
import {
  compressionBrotli,
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import type { OnError } from "./lean-handler.ts";
import type { NodeRequest, NodeResponse } from "./node-responder.ts";

/** The stock router over node's HTTP. connect-node's own adapter prints what fails; here it is told. */
export function createStockHandler(
  routes: (router: ConnectRouter) => void,
  options: ConnectRouterOptions,
  onError: OnError,
): (request: NodeRequest, response: NodeResponse) => void {
  const router = createConnectRouter({ acceptCompression: [compressionGzip, compressionBrotli], ...options });
  routes(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  return (request, response) => {
    const [path = ""] = (request.url ?? "").split("?", 1);
    const handler = handlers.get(path);
    if (handler === undefined) {
      response.statusCode = 404;
      response.end("");
      return;
    }
    const failed = (error: unknown): void => {
      // A caller that left makes the writing fail: no fault of ours.
      if (response.closed || response.destroyed || ConnectError.from(error).code === Code.Aborted) return;
      onError(error, `${handler.service.typeName}/${handler.method.name}`);
      response.destroy();
    };
    handler(universalRequestFromNodeRequest(request, response, undefined, undefined))
      .then((answer) => universalResponseToNodeResponse(answer, response))
      .catch(failed);
  };
}

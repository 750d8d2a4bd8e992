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
import { Gathered } from "@switchyard/http1";
import type { OnError } from "./lean-handler.ts";
import type { NodeRequest, NodeResponse } from "./node-responder.ts";

/** The stock router over node's HTTP. connect-node's own adapter prints what fails; here it is told. */
export function createStockHandler(
  routes: (router: ConnectRouter) => void,
  options: ConnectRouterOptions,
  onError: OnError,
): (request: NodeRequest, response: NodeResponse) => void {
  const mostBytes = options.readMaxBytes ?? Number.POSITIVE_INFINITY;
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
    const asked = universalRequestFromNodeRequest(request, response, undefined, undefined);
    const whole = handler.method.methodKind === "unary" || handler.method.methodKind === "server_streaming";
    handler(whole ? { ...asked, body: inOnePiece(asked.body, mostBytes) } : asked)
      .then((answer) => universalResponseToNodeResponse(answer, response))
      .catch(failed);
  };
}

type Body = ReturnType<typeof universalRequestFromNodeRequest>["body"];

/** A request of one message. The stock router holds each piece until it has all, and the smallest cost hundreds of times their bytes. */
function inOnePiece(body: Body, mostBytes: number): Body {
  return Symbol.asyncIterator in Object(body) ? gather(body as AsyncIterable<Uint8Array>, mostBytes) : body;
}

/** What is too much goes on as it comes: the router refuses it. */
async function* gather(body: AsyncIterable<Uint8Array>, mostBytes: number): AsyncGenerator<Uint8Array> {
  const gathered = new Gathered();
  for await (const piece of body) {
    gathered.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
    if (gathered.length > mostBytes) yield gathered.take();
  }
  if (gathered.length > 0) yield gathered.take();
}

import { IncomingMessage, ServerResponse } from "node:http";
import type { Exchange } from "./exchange.ts";

/** A request that knows its exchange, so that its listeners can be shared functions. */
export class FacadeRequest extends IncomingMessage {
  exchange: Exchange | undefined = undefined;
}

/** A response that knows its exchange. */
export class FacadeResponse extends ServerResponse<FacadeRequest> {
  exchange: Exchange | undefined = undefined;
}

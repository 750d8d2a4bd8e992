export { ChunkedDecoder } from "./chunked.ts";
export { type Flushable, flushThisTurn, type Part, writeParts } from "./flush.ts";
export {
  contentLength,
  Fields,
  maxHeadBytes,
  parseRequestHead,
  parseResponseHead,
  type RequestHead,
  type ResponseHead,
} from "./head.ts";

export { ChunkedDecoder, lastChunk } from "./chunked.ts";
export { type ContentCoding, contentCodings, type DecoderOptions, openDecoder } from "./content-codings.ts";
export { endConnection, FAREWELL, isFarewell } from "./end-connection.ts";
export { fieldName, Fields, isFieldValue } from "./fields.ts";
export { type Flushable, flushThisTurn, type Part, writeParts } from "./flush.ts";
export { Gathered } from "./gathered.ts";
export { contentLength, type Framing } from "./framing.ts";
export {
  maxHeadBytes,
  parseRequestHead,
  parseResponseHead,
  type RequestHead,
  type ResponseHead,
} from "./head.ts";
export { type Patience, PATIENCE } from "./patience.ts";
export { requestHead } from "./request-head.ts";
export { type ResponseFault, ResponseReader, type ResponseSink } from "./response-reader.ts";
export { Roster, type Rostered } from "./roster.ts";
export { stopListening } from "./stop-listening.ts";
